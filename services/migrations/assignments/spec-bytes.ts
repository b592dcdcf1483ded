import { hash } from 'node:crypto'
import { deserialize, serialize } from 'node:v8'
import type { MoveSpec } from '../../engine/mover.ts'
import type { Witness } from '../../drivers/index.ts'

/**
 * What an agent is told of a migration: all but the limits, which are memory of a process, and what its source is: agents
 * compare folders by the numbers of their own system, and remove nothing because of what a store has not.
 */
export interface SentMigration {
  readonly spec: Omit<MoveSpec, 'limits' | 'sourceMark' | 'targetMark' | 'storeIdentity'>
  /** When its queue was made. */
  readonly queueCreated: string
  /** Inner hosts that stores may be at; a platform of an earlier release does not say so. */
  readonly storeHosts?: readonly string[] | undefined
  /** Which credentials of the agent's own host stores may be used with; none where it does not say so. */
  readonly hostCredentials?: readonly string[] | undefined
  /** Of each folder of a host that a store is. */
  readonly folders: readonly { readonly path: string; readonly witness: Witness }[]
}

/** Plain data with binary parts as bytes, as it is sent to threads too. Both sides speak the same `agentProtocol`. */
export const bytesOfMigration = ({ spec, ...rest }: SentMigration): Uint8Array =>
  serialize({ ...rest, spec: withoutSharing(spec) })

/** @param bytes of `bytesOfMigration`, and known to be from the platform */
export function migrationOfBytes(bytes: Uint8Array): SentMigration {
  const { spec, ...rest } = deserialize(bytes) as SentMigration
  const { rules, ...plain } = spec
  if (rules === undefined) return { ...rest, spec: plain }
  return { ...rest, spec: { ...plain, rules: { ...rules, json: copyInto(SharedArrayBuffer, rules.json) } } }
}

/** What of a spec an agent may know of. */
export const sentSpec = ({
  limits: _limits,
  sourceMark: _mark,
  targetMark: _targetMark,
  storeIdentity: _store,
  ...spec
}: MoveSpec): SentMigration['spec'] => spec

/** Equal for equal specs of the same queue. */
export const fingerprintOf = (spec: MoveSpec, queueCreated: string): string =>
  hash('sha256', serialize([withoutSharing(sentSpec(spec)), queueCreated]), 'base64url')

/** Threads share the memory of rules; between processes nothing is. */
const withoutSharing = ({ rules, ...spec }: SentMigration['spec']) =>
  rules === undefined ? spec : { ...spec, rules: { ...rules, json: copyInto(ArrayBuffer, rules.json) } }

function copyInto<B extends ArrayBuffer | SharedArrayBuffer>(
  Memory: new (length: number) => B,
  bytes: ArrayBufferLike,
): B {
  const copy = new Memory(bytes.byteLength)
  new Uint8Array(copy).set(new Uint8Array(bytes))
  return copy
}
