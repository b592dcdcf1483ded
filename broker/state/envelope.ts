import type { Static, TSchema } from 'typebox'
import { unguessable } from '../../subjects/kit/unguessable.ts'
import { check } from '../../subjects/kit/validate.ts'
import type { Emission } from './events.ts'

/** A document of an older version, brought one version up. */
export type Upcaster = (document: unknown) => unknown

export interface Versioned<S extends TSchema> {
  /** Name of the bucket: letters, digits, `-`, `_`. */
  readonly bucket: string
  /** Shape of the current version; checked on write and on read. */
  readonly schema: S
  /** Version of the shape; a stored document of an older one passes the upcasters from its version on. */
  readonly version: number
  readonly upcasters?: Readonly<Record<number, Upcaster>>
}

/** What is stored: the document, and facts that were not yet published when the writer died. */
export interface Envelope {
  v: number
  id: string
  doc: unknown
  outbox?: Emission[]
  /** Names one writing, so that a writer who heard no answer knows it again. */
  w?: string
  /** It is deleted, as soon as the facts are published. */
  gone?: true
}

export function encode<S extends TSchema>(
  { schema, version, bucket }: Versioned<S>,
  id: string,
  value: Static<S>,
  outbox: readonly Emission[] = [],
): Envelope {
  const envelope: Envelope = {
    v: version,
    id,
    doc: check(schema, value, `${bucket}/${id}`),
    w: unguessable(),
  }
  // The fact's own id makes a second publication of it a duplicate that the stream drops.
  if (outbox.length > 0)
    envelope.outbox = outbox.map((emission) => ({ messageId: unguessable(), ...emission }))
  return envelope
}

/** @throws Error for a document that no upcaster brings up, or of a newer release; GantryError for one that does not fit */
export function decode<S extends TSchema>(
  { schema, version, bucket, upcasters }: Versioned<S>,
  envelope: Envelope,
): Static<S> {
  let { doc } = envelope
  for (let from = envelope.v; from < version; from++) {
    const upcast = upcasters?.[from]
    if (upcast === undefined)
      throw new Error(`${bucket}/${envelope.id}: no conversion from version ${from} to ${from + 1}`)
    doc = upcast(doc)
  }
  if (envelope.v > version) throw new Error(`${bucket}/${envelope.id} was written by a newer release`)
  return check(schema, doc, `${bucket}/${envelope.id}`)
}

/** Undefined for bytes that no release writes. */
export function parseEnvelope(text: string): Envelope | undefined {
  try {
    const envelope: unknown = JSON.parse(text)
    return isEnvelope(envelope) ? envelope : undefined
  } catch {
    return undefined
  }
}

const isEnvelope = (value: unknown): value is Envelope =>
  typeof value === 'object' &&
  value !== null &&
  'v' in value &&
  typeof value.v === 'number' &&
  'id' in value &&
  typeof value.id === 'string' &&
  'doc' in value
