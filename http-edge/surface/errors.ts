import type { TSchema } from 'typebox'
import type { ErrorCode } from '../../subjects/kit/errors.ts'

/** How an error appears on a surface. */
export interface WireError {
  readonly status: number
  /** One of the names that clients of the surface know; of what it has no name for, ours. */
  readonly errorCode: string
}

/** Where an operation tells an error otherwise than its surface does for all. */
export type OwnErrors = Readonly<Partial<Record<ErrorCode, Partial<WireError>>>>

/** How a surface tells of errors, for its document. */
export interface SurfaceErrors {
  readonly schema: TSchema
  readonly wireErrorOf: (code: ErrorCode, own?: OwnErrors) => WireError
}
