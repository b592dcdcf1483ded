import { setStoreHosts } from '../../../broker/common/inner-hosts.ts'
import { type FailureClass, StoreError } from '../contract/driver.ts'
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

/** What the reader of a message can do about it. */
const fixes: Partial<Record<FailureClass, string>> = {
  refused: "check accountName, sharedKey, the account's network rules and this machine's clock",
  permission: 'another program holds it, or the account protects it: release it or skip it',
  unreachable: 'check endpoint, network and the state of the service',
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

/** The error of an answer. `what` names operation and object, such as `put of a.txt to container c of account x`. */
export function answerError(what: string, answer: BlobAnswer): StoreError {
  const failure = failureOf(answer)
  const missing = answer.code === 'ContainerNotFound' ? '; create the container or correct containerName' : ''
  const id = answer.headers['x-ms-request-id']
  const said = `${answer.status} ${answer.code ?? 'without an error code'}${id === undefined ? '' : ` (request ${String(id)})`}`
  return failed(failure, what, said + missing, { retryAfterMs: retryAfterMs(answer) })
}

const isOfService = ({ headers, code }: BlobAnswer): boolean =>
  code !== undefined || headers['x-ms-request-id'] !== undefined || headers['x-ms-version'] !== undefined

const foreignAnswer = (what: string, { status }: BlobAnswer): StoreError =>
  failed('unreachable', what, `${status} without the headers of a Blob service`)

/**
 * The error for an endpoint that is no Blob service, or none that may be reached. It is the same whatever is there, and
 * whether anything is: else whoever may add filesystems could find out what runs in inner networks.
 * @param found for the log
 */
function noEndpoint(what: string, host: string, found: StoreError): StoreError {
  const said = `${host} is no Blob endpoint that can be reached`
  const inner = `in an inner network it must be in the setting storeHosts ("${setStoreHosts}")`
  return new StoreError('unreachable', `${what}: ${said}; ${fixes.unreachable}; ${inner}`, {
    cause: found,
    detail: found.message,
  })
}

/** The error of a request that got no answer. */
function networkError(what: string, error: NodeJS.ErrnoException): StoreError {
  const { code, message } = error
  const said = code === undefined || message.includes(code) ? message : `${message} (${code})`
  return failed('unreachable', what, said, { cause: error })
}

/** A StoreError of the form `<what>: <said>; <fix>`. */
export function failed(
  failure: FailureClass,
  what: string,
  said: string,
  options: { cause?: unknown; retryAfterMs?: number | undefined } = {},
): StoreError {
  const fix = fixes[failure]
  const { cause, retryAfterMs } = options
  return new StoreError(failure, `${what}: ${said}${fix === undefined ? '' : `; ${fix}`}`, {
    ...(cause === undefined ? {} : { cause }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  })
}

/** The Blob service at a host. */
export const blobService = (host: string): Service<BlobAnswer> => ({
  isOfService,
  answerError,
  foreignAnswer,
  networkError,
  noEndpoint: (what, found) => noEndpoint(what, host, found),
})
