import type { StoreAddress } from '../http/store-address.ts'
import type { FailureClass, StoreError } from '../contract/driver.ts'
import { failuresWith, type Fixes } from '../http/failures.ts'
import { retryAfterMs, type Service } from '../http/requests.ts'
import type { StoreAnswer } from '../http/transport.ts'

/** An answer of an S3 service. */
export interface S3Answer extends StoreAnswer {
  /** The service's own error code (`NoSuchKey`); undefined on success, for HEAD, which has no body, and from proxies. */
  readonly code: string | undefined
  /** The region that the service names for the bucket, where it does. */
  readonly region: string | undefined
}

/**
 * Error codes that mean something else to the engine than their HTTP status says. From "Error responses" of the service's
 * API reference, and what the servers that were tried answer.
 */
const failureOfCode: Readonly<Record<string, FailureClass>> = {
  AccessDenied: 'permission',
  AllAccessDisabled: 'permission',
  InvalidObjectState: 'permission',
  ObjectLocked: 'permission',
  AccountProblem: 'refused',
  AuthorizationHeaderMalformed: 'refused',
  ExpiredToken: 'refused',
  InvalidAccessKeyId: 'refused',
  InvalidToken: 'refused',
  NotSignedUp: 'refused',
  RequestExpired: 'refused',
  RequestTimeTooSkewed: 'refused',
  SignatureDoesNotMatch: 'refused',
  BadDigest: 'corrupt',
  EntityTooSmall: 'corrupt',
  IncompleteBody: 'corrupt',
  InvalidDigest: 'corrupt',
  InvalidPart: 'corrupt',
  InvalidPartOrder: 'corrupt',
  XAmzContentChecksumMismatch: 'corrupt',
  XAmzContentSHA256Mismatch: 'corrupt',
  EntityTooLarge: 'too-large',
  KeyTooLongError: 'name',
  InvalidURI: 'name',
  XMinioInvalidObjectName: 'name',
  QuotaExceeded: 'full',
  XMinioStorageFull: 'full',
  ConditionalRequestConflict: 'changed',
  OperationAborted: 'unreachable',
  RequestTimeout: 'unreachable',
  ServiceUnavailable: 'throttled',
  SlowDown: 'throttled',
  SlowDownRead: 'throttled',
  SlowDownWrite: 'throttled',
  RequestLimitExceeded: 'throttled',
  ThrottlingException: 'throttled',
}

const failureOfStatus: Readonly<Record<number, FailureClass>> = {
  301: 'refused',
  307: 'unreachable',
  401: 'refused',
  403: 'permission',
  404: 'gone',
  408: 'unreachable',
  409: 'changed',
  412: 'changed',
  413: 'too-large',
  414: 'name',
  416: 'changed',
  429: 'throttled',
  503: 'throttled',
  507: 'full',
}

/** What the reader of a message can do about it. */
const fixes: Fixes = {
  refused: "check accessKey, secretKey, sessionToken, the region and this machine's clock",
  permission: 'allow it to the key by a policy, restore the object if it is archived, or skip it',
  unreachable: 'check endpoint, network and the state of the service',
  throttled: 'lower fs.s3a.connection.maximum or try later',
  unsupported: 'delete what stands there, or leave it out',
  name: 'rename it at the source, or leave it out',
}

const { failed, networkError, noEndpoint } = failuresWith(fixes)
export { failed }

/** The class of an answer that is not a success. */
export function failureOf(answer: S3Answer): FailureClass {
  const { status, code } = answer
  const known = code === undefined ? undefined : failureOfCode[code]
  if (known !== undefined) return known
  // Only the service itself knows that something is gone or was changed.
  const said = failureOfStatus[status]
  if ((said === 'gone' || said === 'changed') && !isOfService(answer)) return 'unreachable'
  return said ?? (status >= 500 ? 'unreachable' : 'io')
}

/** The error of an answer. `what` names operation and object, such as `put of a.txt to bucket data at s3.example`. */
export function answerError(what: string, answer: S3Answer): StoreError {
  const { status, code, headers } = answer
  const missing = code === 'NoSuchBucket' ? '; create the bucket or correct bucketName' : ''
  const id = headers['x-amz-request-id']
  const said = `${status} ${code ?? 'without an error code'}${id === undefined ? '' : ` (request ${id})`}`
  return failed(failureOf(answer), what, said + missing, { retryAfterMs: retryAfterMs(answer) })
}

/** Services that leave out the headers of Amazon's name themselves, or give an entity tag or an error in XML. */
const isOfService = ({ headers, code, status }: S3Answer): boolean =>
  code !== undefined ||
  headers['x-amz-request-id'] !== undefined ||
  headers['x-amz-id-2'] !== undefined ||
  headers['x-amz-bucket-region'] !== undefined ||
  (status < 300 && headers.etag !== undefined) ||
  /s3|minio|ceph|garage|versity/i.test(headers.server ?? '')

/** The service at a host. */
export const s3Service = (
  host: string,
  address: Pick<StoreAddress, 'mayBeRefused'> | undefined,
): Service<S3Answer> => ({
  isOfService,
  answerError,
  foreignAnswer: (what, { status }) =>
    failed('unreachable', what, `${status} without anything that an S3 service answers`),
  networkError,
  noEndpoint: (what, found) => noEndpoint(what, host, 'S3', found, address),
})
