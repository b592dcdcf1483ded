import type { Msg } from '@nats-io/transport-node'
import type { Caller, Contract } from '../../subjects/kit/contract.ts'
import type { ErrorCode, GantryError } from '../../subjects/kit/errors.ts'
import { addressOf, type AddressMarks } from '../messages/client-address.ts'
import { shortened } from '../../subjects/kit/shortened.ts'
import type { Log } from '../common/log.ts'

/** What came of a call that is to be recorded. */
export interface Outcome {
  readonly contract: Contract
  /** undefined: nobody whom we know. */
  readonly caller: Caller | undefined
  readonly object: string | undefined
  /** Path in the object. */
  readonly path: string | undefined
  /** What was set, as `name=value`. */
  readonly details: string | undefined
  /** Files and folders that are gone by a removal. */
  readonly removed: number | undefined
  /** Address of the client. */
  readonly from: string | undefined
  readonly result: 'ok' | ErrorCode
  readonly requestId: string
}

/** Where outcomes go. */
export interface Recorder {
  /** @throws GantryError STORAGE_FULL when an outcome could not be recorded, so that nothing is done */
  requireRoom(): void
  /** Resolves when the outcome is stored. */
  record(outcome: Outcome): Promise<void>
}

export interface RecordingOptions {
  readonly contract: Contract
  readonly message: Msg
  readonly requestId: string
  readonly recorder: Recorder
  readonly marks: AddressMarks
  readonly log: Log
}

/** The record of one request, which is written once. */
export class Recording {
  /** Set as soon as they are known. */
  caller: Caller | undefined
  #object: string | undefined
  #path: string | undefined
  #details: readonly Detail[] | undefined
  #removed: number | undefined
  readonly #options: RecordingOptions
  #isDone = false

  constructor(options: RecordingOptions) {
    this.#options = options
  }

  /** Takes what the record says of the object from a checked input or output, unless it is known. */
  name(value: unknown): void {
    const { object, path, details, removed } = this.#options.contract.audit ?? {}
    this.#object ??= textOf(object, value)
    this.#path ??= textOf(path, value)
    // The input comes first, and the output is not what was asked for.
    this.#details ??= detailsOf(details, value)
    this.#removed ??= numberOf(removed, value)
  }

  /**
   * @param replaced what fields of the input were before, as far as the handler has said so
   * @throws GantryError when the record is not stored: the change must not be reported as done
   */
  async succeeded(replaced?: Readonly<Record<string, unknown>>): Promise<void> {
    this.#isDone = true
    await this.#record('ok', replaced)
  }

  async failed({ code, details }: GantryError): Promise<void> {
    if (this.#isDone) return
    const { contract, log, requestId } = this.#options
    this.#removed ??= numberOf(contract.audit?.removed, details)
    await this.#record(code).catch((err: unknown) =>
      log.error({ err, requestId }, 'A refusal is not in the audit log yet.'),
    )
  }

  #record(result: Outcome['result'], replaced?: Readonly<Record<string, unknown>>): Promise<void> {
    const { contract, message, requestId, recorder, marks } = this.#options
    const { subject } = contract
    return recorder.record({
      contract,
      caller: this.caller,
      object: this.#object,
      path: this.#path,
      details: detailsText(this.#details, replaced),
      removed: this.#removed,
      from: addressOf(message, marks, { subject, requestId }),
      result,
      requestId,
    })
  }
}

function textOf(field: string | undefined, value: unknown): string | undefined {
  const found = fieldOf(field, value)
  return typeof found === 'string' ? found : undefined
}

/** More nobody reads in a line, and each record is kept for long. */
const maxDetailsLength = 2_000
const maxDetailLength = 1_000

/** A field that an input sets, and the value as text. */
interface Detail {
  readonly name: string
  readonly text: string
}

/** What a checked input sets, field by field; empty where it sets nothing of it. */
const detailsOf = (fields: readonly string[] | undefined, value: unknown): Detail[] | undefined =>
  fields?.flatMap((name) => {
    const found = fieldOf(name, value)
    return found === undefined ? [] : [{ name, text: detailText(found) }]
  })

const detailText = (value: unknown): string =>
  shortened(typeof value === 'string' ? value : JSON.stringify(value), maxDetailLength)

/** As `name=value`, or `name=value (was value)` where it was something else. */
function detailsText(
  details: readonly Detail[] | undefined,
  replaced: Readonly<Record<string, unknown>> = {},
): string | undefined {
  if (details === undefined || details.length === 0) return undefined
  const texts = details.map(({ name, text }) => {
    const before = replaced[name] === undefined ? text : detailText(replaced[name])
    return before === text ? `${name}=${text}` : `${name}=${text} (was ${before})`
  })
  return shortened(texts.join(' '), maxDetailsLength)
}

function numberOf(field: string | undefined, value: unknown): number | undefined {
  const found = fieldOf(field, value)
  return typeof found === 'number' ? found : undefined
}

const fieldOf = (field: string | undefined, value: unknown): unknown =>
  field === undefined || typeof value !== 'object' || value === null
    ? undefined
    : (value as Record<string, unknown>)[field]
