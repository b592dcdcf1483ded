import { GantryError, isErrorCode } from '../../../subjects/kit/errors.ts'
import { type FailureClass, failureClasses } from '../../../subjects/migrations/model/failure-classes.ts'
import { StoreError, type StoreSide } from './driver.ts'

/** An error as it crosses between threads: structured cloning forgets classes and their fields. */
export interface SentError {
  readonly message: string
  readonly stack: string | undefined
  /** Of a StoreError. */
  readonly failure?: FailureClass
  readonly retryAfterMs?: number | undefined
  readonly side?: StoreSide | undefined
  readonly detail?: string | undefined
  readonly targetMessage?: string | undefined
  /** Of a GantryError. */
  readonly code?: string
  readonly details?: unknown
}

/** The fields of an error, to be sent. */
export function sendableError(error: unknown): SentError {
  if (!(error instanceof Error)) return { message: String(error), stack: undefined }
  const { message, stack } = error
  if (error instanceof StoreError) {
    const { failure, retryAfterMs, side, detail, targetMessage } = error
    return { message, stack, failure, retryAfterMs, side, detail, targetMessage }
  }
  if (error instanceof GantryError) return { message, stack, code: error.code, details: error.details }
  return { message, stack }
}

/** The error that was sent: of its own class again, its stack that of the thread. */
export function receivedError(sent: SentError): Error {
  const { message, stack, failure, retryAfterMs, side, detail, targetMessage, code, details } = sent
  const error = restored()
  if (stack !== undefined) error.stack = stack
  return error

  function restored(): Error {
    if (failure !== undefined && Object.hasOwn(failureClasses, failure)) {
      return new StoreError(failure, message, {
        side,
        detail,
        targetMessage,
        ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      })
    }
    return isErrorCode(code) ? new GantryError(code, message, { details }) : new Error(message)
  }
}
