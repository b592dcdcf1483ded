import type { StoreAddress } from '../http/store-address.ts'
import { type FailureClass, StoreError } from '../contract/driver.ts'
import { failuresWith, type Fixes } from '../http/failures.ts'
import { retryAfterMs, type Service } from '../http/requests.ts'
import type { StoreAnswer } from '../http/transport.ts'

/** An answer of the Blob service. */
export interface BlobAnswer extends StoreAnswer {
  /** The service's own error code (`BlobNotFound`), undefined on success and from proxies. */
  readonly code: string | undefined
}

/**
 * Error codes that mean something else to the engine than their HTTP status says. From "Blob service error codes" and
 * "Common REST API error codes" of the service's REST reference.
 */
const failureOfCode: Readonly<Record<string, FailureClass>> = {
  AccountBeingCreated: 'unreachable',
  AuthorizationPermissionMismatch: 'permission',
  BlobImmutableDueToPolicy: 'permission',
  ContainerBeingDeleted: 'gone',
  ContainerDisabled: 'permission',
  LeaseIdMissing: 'permission',
  LeaseIdMismatchWithBlobOperation: 'permission',
  LeaseLost: 'permission',
  BlobArchived: 'permission',
  BlobBeingRehydrated: 'permission',
  InvalidUri: 'name',
  InvalidResourceName: 'name',
  InvalidBlockList: 'corrupt',
  InvalidMd5: 'corrupt',
  Md5Mismatch: 'corrupt',
  RequestBodyTooLarge: 'too-large',
  BlockCountExceedsLimit: 'too-large',
  BlockListTooLong: 'too-large',
  InvalidBlobType: 'unsupported',
  DirectoryIsNotEmpty: 'unsupported',
  DirectoryNotEmpty: 'unsupported',
  SourcePathNotFound: 'gone',
  SnapshotsPresent: 'permission',
}

const failureOfStatus: Readonly<Record<number, FailureClass>> = {
  401: 'refused',
  403: 'refused',
  404: 'gone',
  408: 'unreachable',
  412: 'changed',
  413: 'too-large',
  414: 'name',
  416: 'changed',
  429: 'throttled',
  503: 'throttled',
}

const fixOfCode: Readonly<Record<string, string>> = {
  ContainerNotFound: '; create the container or correct containerName',
  QueueNotFound: '; create the queue or correct eventQueue',
}

/** What the reader of a message can do about it. */
const fixes: Fixes = {
  refused:
    "check accountName, sharedKey, sasToken or the roles of the service principal (Storage Blob Data Owner; for eventQueue Storage Queue Data Contributor), the account's network rules and this machine's clock",
  permission: 'another program holds it, or the account protects it: release it or skip it',
  unreachable:
    'check endpoint, network and the state of the service; one without TLS, such as an emulator, needs insecure',
  throttled: 'lower the concurrency or try later',
  unsupported: 'delete what stands there, or leave it out',
  name: 'rename it at the source, or leave it out',
}

/** The class of an answer that is not a success. */
export function failureOf(answer: BlobAnswer): FailureClass {
  const { status, code } = answer
  const known = code === undefined ? undefined : failureOfCode[code]
  if (known !== undefined) return known
  // The front end refuses a URL that it cannot decode before the Blob service sees it, without an error code.
  if (status === 400 && code === undefined) return 'name'
  // Only the service itself knows that something is gone or was changed.
  const said = failureOfStatus[status]
  if ((said === 'gone' || said === 'changed') && !isOfService(answer)) return 'unreachable'
  return said ?? (status >= 500 ? 'unreachable' : 'io')
}

/**
 * The error of an answer. `what` names operation and object, such as `put of a.txt to container c of account x`.
 * @param refusal what is known of it by the credentials, in place of the usual advice
 */
export function answerError(what: string, answer: BlobAnswer, refusal?: string): StoreError {
  const failure = failureOf(answer)
  const missing = answer.code === undefined ? '' : (fixOfCode[answer.code] ?? '')
  const id = answer.headers['x-ms-request-id']
  const said = `${answer.status} ${answer.code ?? 'without an error code'}${id === undefined ? '' : ` (request ${id})`}`
  if (refusal !== undefined) return new StoreError(failure, `${what}: ${said}; ${refusal}`)
  return failed(failure, what, said + missing, { retryAfterMs: retryAfterMs(answer) })
}

const isOfService = ({ headers, code }: BlobAnswer): boolean =>
  code !== undefined || headers['x-ms-request-id'] !== undefined || headers['x-ms-version'] !== undefined

const foreignAnswer = (what: string, { status }: BlobAnswer): StoreError =>
  failed('unreachable', what, `${status} without the headers of a Blob service`)

const { failed, networkError, noEndpoint } = failuresWith(fixes)
export { failed }

/**
 * The Blob service at a host.
 * @param refusalOf what the credentials tell of an answer
 */
export const blobService = (
  host: string,
  refusalOf: (answer: BlobAnswer) => string | undefined,
  address: Pick<StoreAddress, 'mayBeRefused'> | undefined,
): Service<BlobAnswer> => ({
  isOfService,
  answerError: (what, answer) => answerError(what, answer, refusalOf(answer)),
  foreignAnswer,
  networkError,
  noEndpoint: (what, found) => noEndpoint(what, host, 'Blob', found, address),
})
