/**
 * Every error that Gantry answers: its HTTP status, whether the same call may succeed later without a change, and one
 * sentence of meaning. Decisions are made on the code, never on the message.
 */
export const errors = {
  INVALID_INPUT: {
    status: 400,
    retryable: false,
    meaning: 'A field is missing, unknown or invalid.',
  },
  NOT_ACCEPTED: {
    status: 409,
    retryable: false,
    meaning:
      'Each field is valid, but a value conflicts with other fields, the settings or existing objects.',
  },
  UNAUTHENTICATED: { status: 401, retryable: false, meaning: 'The request has no valid token.' },
  DENIED: { status: 403, retryable: false, meaning: 'The key may not use this subject.' },
  EXCEEDS_ROLE: { status: 403, retryable: false, meaning: 'The request exceeds role permissions.' },
  NOT_FOUND: { status: 404, retryable: false, meaning: 'The object does not exist.' },
  METHOD_NOT_ALLOWED: {
    status: 405,
    retryable: false,
    meaning: 'This path does not support the method; the header Allow lists the supported ones.',
  },
  ALREADY_EXISTS: {
    status: 409,
    retryable: false,
    meaning: 'An object with this name or path already exists.',
  },
  NOT_ALLOWED_IN_STATE: { status: 409, retryable: false, meaning: 'The object’s state does not allow this.' },
  IN_USE: { status: 409, retryable: false, meaning: 'Another object still needs this one.' },
  CONFLICT: {
    status: 409,
    retryable: true,
    meaning: 'Another request changed the object at the same time; try again.',
  },
  LIMIT_REACHED: {
    status: 409,
    retryable: false,
    meaning: 'The maximum number of these objects is reached; remove some, or raise the limit.',
  },
  TOO_LARGE: { status: 413, retryable: false, meaning: 'The request is larger than the limit.' },
  STORE_REFUSED: {
    status: 409,
    retryable: false,
    meaning: 'The store rejected the credentials or the request.',
  },
  UNSUPPORTED: {
    status: 409,
    retryable: false,
    meaning: 'This store or release does not support the operation.',
  },
  THROTTLED: {
    status: 429,
    retryable: true,
    meaning:
      'Too many requests with this key, or too many wrong tokens, wrong passwords or sign-ins from this address; try again later.',
  },
  INTERNAL: { status: 500, retryable: false, meaning: 'The service failed; its log has the request id.' },
  STORE_UNREACHABLE: { status: 409, retryable: true, meaning: 'The store did not answer.' },
  OVERLOADED: { status: 503, retryable: true, meaning: 'The service is overloaded; try again later.' },
  UNAVAILABLE: { status: 503, retryable: true, meaning: 'No service answers this subject at the moment.' },
  TIMEOUT: { status: 504, retryable: true, meaning: 'No reply arrived before the deadline.' },
  STORAGE_FULL: { status: 507, retryable: true, meaning: 'The platform’s own storage is full.' },
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

/** The problems in one line. */
export const problemsText = (problems: readonly Problem[]): string =>
  problems.map(({ field, problem }) => (field === '' ? problem : `${field} ${problem}`)).join('; ')

/** @param what what the value is, for the message: "input", "gantry.config" … */
export const invalid = (problems: readonly Problem[], what = 'input'): GantryError<'INVALID_INPUT'> =>
  new GantryError('INVALID_INPUT', `${what}: ${problemsText(problems)}`, { details: problems })

/**
 * The refusal of a field whose form is that of the schema. INVALID_INPUT is for what the schema of a contract itself rules
 * out, so that callers can tell what to check before they send from what only the platform knows.
 * @param problem completes "source …"
 */
export const notAccepted = (field: string, problem: string, cause?: unknown): GantryError<'NOT_ACCEPTED'> =>
  new GantryError('NOT_ACCEPTED', `input: ${field} ${problem}`, { details: [{ field, problem }], cause })
