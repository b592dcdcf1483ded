import { type FailureClass, failureClasses } from '../../../subjects/migrations/model/failure-classes.ts'

export type { FailureClass } from '../../../subjects/migrations/model/failure-classes.ts'

/** Which of the two stores of a migration. */
export type StoreSide = 'source' | 'target'

/** What went wrong, with the side that it went wrong on at its start, as all that is told of a path has it. */
export const saidOf = (side: StoreSide, message: string): string =>
  message.startsWith(`${side}: `) ? message : `${side}: ${message}`

/** `side`: the store that it is known to be of, which its message then begins with. */
export class StoreError extends Error {
  readonly failure: FailureClass
  /** Milliseconds that the store asked to wait before the next try. */
  readonly retryAfterMs: number | undefined
  readonly side: StoreSide | undefined
  /** For the log alone: callers are not to know it. */
  readonly detail: string | undefined
  /** The message where the store is a target, with what to do then: of a source that would be wrong. */
  readonly targetMessage: string | undefined
  /** Whether something was to be removed there. */
  readonly isRemoval: boolean

  constructor(
    failure: FailureClass,
    message: string,
    options: {
      cause?: unknown
      retryAfterMs?: number
      side?: StoreSide | undefined
      detail?: string | undefined
      targetMessage?: string | undefined
      isRemoval?: boolean
    } = {},
  ) {
    const said = options.side === undefined ? message : saidOf(options.side, message)
    super(said, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'StoreError'
    this.failure = failure
    this.retryAfterMs = options.retryAfterMs
    this.side = options.side
    this.detail = options.detail
    this.targetMessage = options.targetMessage
    this.isRemoval = options.isRemoval ?? false
  }

  /** The message, with what to do where the store is this side of a migration. */
  messageFor(side: StoreSide): string {
    return side === 'target' ? (this.targetMessage ?? this.message) : this.message
  }

  /** Whether it is known to be of the store that something is written to. */
  get isTargets(): boolean {
    return this.side === 'target'
  }

  get retryable(): boolean {
    return failureClasses[this.failure].retryable
  }
}

/**
 * The failure class of any error: what a driver did not foresee counts as `io`, so that one odd file is given up after
 * some tries instead of bringing its item back for ever.
 */
export function storeError(error: unknown): StoreError {
  if (error instanceof StoreError) return error
  return new StoreError('io', error instanceof Error ? error.message : String(error), { cause: error })
}

/**
 * An error of the target, marked as such. That something is gone there is no reason to forget a file of the source: the
 * folder is made again at the next try.
 */
export function targetError(error: unknown): StoreError {
  const known = storeError(error)
  const { failure, retryAfterMs } = known
  const message = known.messageFor('target')
  const options = {
    cause: error,
    side: 'target',
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  } as const
  return new StoreError(failure === 'gone' ? 'io' : failure, message, options)
}

/** The failure of what can be kept nowhere. */
export const unsupported = () =>
  new StoreError(
    'unsupported',
    'this is neither a file nor a folder nor a symbolic link (a pipe, socket or device)',
  )

/** The failure of a file that is another version than the one that is read. */
export const changed = () => new StoreError('changed', 'the file changed while it was read')
