import type { StoreAddress } from '../../../drivers/http/store-address.ts'
import type { FailureClass, StoreError } from '../../../drivers/contract/driver.ts'
import { failuresWith, type Fixes } from '../../../drivers/http/failures.ts'
import { jsonObject } from '../../../drivers/http/json.ts'
import { retryAfterMs, type Service } from '../../../drivers/http/requests.ts'
import type { StoreAnswer } from '../../../drivers/http/transport.ts'

/** An answer of a catalog. */
export interface IcebergAnswer extends StoreAnswer {
  /** Its own class of error, such as `NoSuchTableException`, and its words; undefined on success, and from others. */
  readonly error?: { readonly type: string; readonly message: string } | undefined
}

const fixes: Fixes = {
  refused: 'check token, or clientId, clientSecret and scope',
  permission: 'grant this permission to the user of these credentials in the catalog',
  unreachable: 'check uri, warehouse, network and the state of the catalog',
  throttled: 'try later',
}

const { failed, networkError, noEndpoint } = failuresWith(fixes)
export { failed }

const failureOfStatus: Readonly<Record<number, FailureClass>> = {
  400: 'unsupported',
  401: 'refused',
  403: 'permission',
  404: 'gone',
  406: 'unsupported',
  408: 'unreachable',
  409: 'changed',
  413: 'too-large',
  // Of a token that is over, as the protocol has it.
  419: 'refused',
  422: 'unsupported',
  429: 'throttled',
  501: 'unsupported',
  502: 'unreachable',
  503: 'unreachable',
  504: 'unreachable',
}

/** Classes of errors that some releases give another status. */
const failureOfType = new Map<string, FailureClass>(
  Object.entries({
    AlreadyExistsException: 'changed',
    NamespaceNotEmptyException: 'changed',
    NoSuchNamespaceException: 'gone',
    NoSuchTableException: 'gone',
    NoSuchViewException: 'gone',
  } as const),
)

/** Stacks of servers are some dozen kB. */
const maxErrorBytes = 256 * 1024
const maxMessageLength = 500

/** An answer with the error that is in it. */
export function withError(answer: StoreAnswer): IcebergAnswer {
  const { status, body } = answer
  if (status < 400 || body.length > maxErrorBytes) return answer
  const { type, message } = (jsonObject(body)?.['error'] ?? {}) as Readonly<Record<string, unknown>>
  if (typeof type !== 'string' || typeof message !== 'string') return answer
  return {
    ...answer,
    error: { type: type.slice(0, maxMessageLength), message: message.slice(0, maxMessageLength) },
  }
}

/** Errors have the shape that the protocol gives them; all else is JSON, or nothing. */
const isOfCatalog = ({ status, headers, body, error }: IcebergAnswer): boolean =>
  error !== undefined ||
  (status < 300 && (body.length === 0 || /\bjson\b/i.test(headers['content-type'] ?? '')))

function answerError(what: string, answer: IcebergAnswer): StoreError {
  const { status, error } = answer
  const known = failureOfType.get(error?.type ?? '') ?? failureOfStatus[status] ?? 'io'
  // Only the catalog itself knows that something is gone or was changed.
  const isGuess = (known === 'gone' || known === 'changed') && !isOfCatalog(answer)
  const said =
    error === undefined ? `${status} without an error message of a catalog` : `${status} ${error.message}`
  return failed(isGuess ? 'unreachable' : known, what, said, { retryAfterMs: retryAfterMs(answer) })
}

/** The catalog at a host. */
export const icebergService = (
  host: string,
  address: Pick<StoreAddress, 'mayBeRefused'> | undefined,
): Service<IcebergAnswer> => ({
  isOfService: isOfCatalog,
  answerError,
  foreignAnswer: (what, { status }) =>
    failed('unreachable', what, `${status} with a reply that is not from a catalog`),
  networkError,
  noEndpoint: (what, found) => noEndpoint(what, host, 'Iceberg REST', found, address),
})
