/**
 * Every error that Gantry answers: its HTTP status, whether the same call may succeed later without a change, and one
 * sentence of meaning. Decisions are made on the code, never on the message.
 */
export const errors = {
  INVALID_INPUT: {
    status: 400,
    retryable: false,
    meaning: 'A field is missing, unknown or out of its bounds.',
  },
  NOT_ACCEPTED: {
    status: 409,
    retryable: false,
    meaning:
      'Each field has a valid form, but a value does not fit the other fields, the settings or what exists.',
  },
  UNAUTHENTICATED: { status: 401, retryable: false, meaning: 'No valid token was presented.' },
  DENIED: { status: 403, retryable: false, meaning: 'The key may not use this subject.' },
  EXCEEDS_ROLE: { status: 403, retryable: false, meaning: 'The request exceeds role permissions.' },
  NOT_FOUND: { status: 404, retryable: false, meaning: 'There is no such object.' },
  METHOD_NOT_ALLOWED: {
    status: 405,
    retryable: false,
    meaning: 'This path takes other methods; the header Allow names them.',
  },
  ALREADY_EXISTS: { status: 409, retryable: false, meaning: 'An object with this name or path exists.' },
  NOT_ALLOWED_IN_STATE: { status: 409, retryable: false, meaning: 'The object’s state does not allow this.' },
  IN_USE: { status: 409, retryable: false, meaning: 'Another object still needs this one.' },
  CONFLICT: { status: 409, retryable: true, meaning: 'Somebody else changed the object at the same time.' },
  LIMIT_REACHED: {
    status: 409,
    retryable: false,
    meaning: 'There are as many of these objects as there may be; remove some, or raise the limit.',
  },
  TOO_LARGE: { status: 413, retryable: false, meaning: 'The request is larger than the limit.' },
  STORE_REFUSED: {
    status: 409,
    retryable: false,
    meaning: 'The store refused the credentials or the request.',
  },
  UNSUPPORTED: { status: 409, retryable: false, meaning: 'This store or release cannot do that.' },
  THROTTLED: {
    status: 429,
    retryable: true,
    meaning:
      'Too many requests came with this key, or wrong tokens or passwords, or sign-ins begun, from this address; wait a little.',
  },
  INTERNAL: { status: 500, retryable: false, meaning: 'The service failed; its log has the request id.' },
  STORE_UNREACHABLE: { status: 409, retryable: true, meaning: 'The store did not answer.' },
  OVERLOADED: { status: 503, retryable: true, meaning: 'The service has more work than it accepts.' },
  UNAVAILABLE: { status: 503, retryable: true, meaning: 'Nobody answers this subject at the moment.' },
  TIMEOUT: { status: 504, retryable: true, meaning: 'No answer came before the deadline.' },
  STORAGE_FULL: { status: 507, retryable: true, meaning: 'The platform’s own storage is at its limit.' },
} as const

export type ErrorCode = keyof typeof errors

/** Codes that any call may answer, whatever its contract says. */
export const commonCodes = [
  'INVALID_INPUT',
  'NOT_ACCEPTED',
  'UNAUTHENTICATED',
  'DENIED',
  'TOO_LARGE',
  'THROTTLED',
  'INTERNAL',
  'OVERLOADED',
  'UNAVAILABLE',
  'TIMEOUT',
  'STORAGE_FULL',
] as const satisfies readonly ErrorCode[]
export type CommonCode = (typeof commonCodes)[number]

/** What went wrong with one field of the input; `field` is a JSON path such as `capabilities.pub.allow[2]`. */
export interface Problem {
  field: string
  problem: string
}

/** Body of every reply that is an error. */
export interface ErrorBody {
  code: ErrorCode
  message: string
  details?: unknown
  /** Absent when nobody answered. */
  requestId?: string | undefined
}

/** The one error class that crosses a boundary. `message` is for the caller; what only the log may know goes into `cause`. */
export class GantryError<C extends ErrorCode = ErrorCode> extends Error {
  readonly code: C
  readonly details: unknown
  /** Set on errors that came back from a call. */
  requestId: string | undefined

  constructor(
    code: C,
    message: string,
    options: { details?: unknown; cause?: unknown; requestId?: string } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'GantryError'
    this.code = code
    this.details = options.details
    this.requestId = options.requestId
  }

  get status(): number {
    return errors[this.code].status
  }

  get retryable(): boolean {
    return errors[this.code].retryable
  }

  /** Body of a reply, as JSON; details that JSON does not know, or that are too deep for the stack, are left out. */
  toText(requestId: string | undefined): string {
    const { code, message, details } = this
    const body: ErrorBody = { code, message, requestId }
    if (details === undefined) return JSON.stringify(body)
    try {
      return JSON.stringify({ ...body, details })
    } catch {
      return JSON.stringify(body)
    }
  }
}

export const isErrorCode = (code: unknown): code is ErrorCode =>
  typeof code === 'string' && Object.hasOwn(errors, code)

/** Whether an unknown thrown value is a GantryError, optionally of one code. */
export const isGantryError = (error: unknown, code?: ErrorCode): error is GantryError =>
  error instanceof GantryError && (code === undefined || error.code === code)

/** The error in a reply's body, which may be of anybody; one that is none of ours becomes INTERNAL. */
export function errorOf(body: unknown, fallback: string): GantryError {
  const { code, message, details, requestId } = (body ?? {}) as Partial<Record<keyof ErrorBody, unknown>>
  if (!isErrorCode(code)) return new GantryError('INTERNAL', fallback)
  return new GantryError(code, typeof message === 'string' ? message : errors[code].meaning, {
    details,
    ...(typeof requestId === 'string' ? { requestId } : {}),
  })
}

/**
 * The refusal of a field whose form is that of the schema. INVALID_INPUT is for what the schema of a contract itself rules
 * out, so that callers can tell what to check before they send from what only the platform knows.
 * @param problem completes "source …"
 */
export const notAccepted = (field: string, problem: string, cause?: unknown): GantryError<'NOT_ACCEPTED'> =>
  new GantryError('NOT_ACCEPTED', `input: ${field} ${problem}`, { details: [{ field, problem }], cause })
