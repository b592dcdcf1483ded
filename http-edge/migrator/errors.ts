import { Type } from 'typebox'
import { http } from '../../broker/common/http.ts'
import { type ErrorCode, errors, GantryError } from '../../subjects/kit/errors.ts'
import type { ErrorFormat } from '../server/definition.ts'
import type { OwnErrors, SurfaceErrors, WireError } from '../surface/errors.ts'

/** Where an error is not told with its own status and code. */
const wireErrors: OwnErrors = {
  INVALID_INPUT: { errorCode: 'INVALID_REQUEST_PARAMETERS' },
  NOT_ACCEPTED: { errorCode: 'ILLEGAL_ARGUMENTS' },
  METHOD_NOT_ALLOWED: { errorCode: 'HTTP_METHOD_NOT_SUPPORTED' },
  NOT_ALLOWED_IN_STATE: { status: 403, errorCode: 'ILLEGAL_STATE' },
  IN_USE: { errorCode: 'ACTIVE_MIGRATIONS' },
  STORE_REFUSED: { errorCode: 'FILE_SYSTEM_ACCESS_RESTRICTED' },
  STORE_UNREACHABLE: { status: 500, errorCode: 'FILE_IO_ERROR' },
  UNSUPPORTED: { errorCode: 'UNSUPPORTED_VALUE' },
}

/** A refusal that only the surface knows. */
export class WireRefusal extends GantryError {
  readonly wire: WireError

  constructor(code: ErrorCode, wire: WireError, message: string) {
    super(code, message)
    this.wire = wire
  }
}

/** How an error of a contract appears. @param own where the operation says otherwise than all */
function wireErrorOf(code: ErrorCode, own: OwnErrors = {}): WireError {
  return { status: errors[code].status, errorCode: code, ...wireErrors[code], ...own[code] }
}

/** The error body of the surface, and what ours says beside it. */
const ErrorSchema = Type.Object(
  {
    title: Type.String({ description: 'Name of the HTTP status' }),
    status: Type.Integer({ description: 'HTTP status' }),
    error: Type.Integer({ description: 'HTTP status' }),
    message: Type.String({ description: 'Error message with the fix' }),
    errorCode: Type.String({ description: 'Error code of this API' }),
    localizedMessage: Type.String({ description: 'Same as message' }),
    code: Type.String({ description: 'Error code of /api/v1' }),
    details: Type.Optional(Type.Unknown({ description: 'Details of the error' })),
    requestId: Type.String({ description: 'Request id, for finding the request in the log' }),
  },
  { description: 'Error of a failed request' },
)

/** How the document of the surface tells of errors. */
export const wireErrorFormat: SurfaceErrors = { schema: ErrorSchema, wireErrorOf }

/** The error body of the surface, with what ours says beside it. */
export const migratorErrors: ErrorFormat = {
  render: (error, requestId, request) => {
    const operation = request?.routeOptions.config.operation
    const { status, errorCode } =
      error instanceof WireRefusal ? error.wire : wireErrorOf(error.code, operation?.errors)
    const { message } = error
    const own = JSON.parse(error.toText(requestId)) as object
    const body = {
      title: http.STATUS_CODES[status] ?? String(status),
      status,
      error: status,
      message,
      errorCode,
      localizedMessage: message,
      ...own,
    }
    return { status, text: JSON.stringify(body, null, 2) }
  },
  // Clients take 404 for an object that is gone.
  unknownPath: (method, path) =>
    new WireRefusal(
      'UNSUPPORTED',
      { status: 501, errorCode: 'UNSUPPORTED_VALUE' },
      `${method} ${path} does not exist on this server`,
    ),
}
