import type { StoreAddress } from '../http/store-address.ts'
import type { FailureClass, StoreError } from '../contract/driver.ts'
import { failuresWith, type Fixes } from '../http/failures.ts'
import { retryAfterMs, type Service } from '../http/requests.ts'
import type { StoreAnswer } from '../http/transport.ts'

/** An answer of Cloud Storage. */
export interface GcsAnswer extends StoreAnswer {
  /** The service's own reason (`rateLimitExceeded`) and words; undefined on success, and from proxies. */
  readonly error?: { readonly reason: string | undefined; readonly message: string } | undefined
}

/** Reasons that mean something else to the engine than their HTTP status says: "HTTP status and error codes for JSON". */
const failureOfReason: Readonly<Record<string, FailureClass>> = {
  accountDisabled: 'refused',
  authError: 'refused',
  required: 'refused',
  rateLimitExceeded: 'throttled',
  userRateLimitExceeded: 'throttled',
  quotaExceeded: 'throttled',
  uploadTooLarge: 'too-large',
}

const failureOfStatus: Readonly<Record<number, FailureClass>> = {
  401: 'refused',
  403: 'permission',
  404: 'gone',
  408: 'unreachable',
  409: 'changed',
  412: 'changed',
  413: 'too-large',
  416: 'changed',
  429: 'throttled',
}

/** What the reader of a message can do about it. */
const fixes: Fixes = {
  refused: "check the key of the service account, and this machine's clock",
  permission:
    'give the service account the role Storage Object Admin (a source: Storage Object Viewer), or skip it',
  unreachable: 'check endpoint, network and the state of the service',
  throttled: 'lower gantry.gcs.connections or try later',
  unsupported: 'delete what stands there, or leave it out',
  name: 'rename it at the source, or leave it out',
}

const { failed, networkError, noEndpoint } = failuresWith(fixes)
export { failed }

/** That the bucket itself is missing, which the service says in words only. */
export const isOfBucket = ({ error }: GcsAnswer): boolean =>
  /bucket does not exist/i.test(error?.message ?? '')

export function failureOf(answer: GcsAnswer): FailureClass {
  const { status, error } = answer
  const known = error?.reason === undefined ? undefined : failureOfReason[error.reason]
  if (known !== undefined) return known
  // Of a digest that is not that of the content: "Provided MD5 hash …", "CRC32C … doesn't match".
  if (status === 400 && /(?:md5|crc32c|checksum|hash)/i.test(error?.message ?? '')) return 'corrupt'
  const said = failureOfStatus[status]
  // Only the service itself knows that something is gone or was changed.
  if ((said === 'gone' || said === 'changed') && !isOfService(answer)) return 'unreachable'
  return said ?? (status >= 500 ? 'unreachable' : 'io')
}

/** The error of an answer. `what` names operation and object, such as `put of a.txt to bucket data at …`. */
export function answerError(what: string, answer: GcsAnswer): StoreError {
  const { status, error } = answer
  const missing = isOfBucket(answer) ? '; create the bucket or correct bucketName' : ''
  const said = error === undefined ? `${status} without an error code` : `${status} ${error.message}`
  return failed(failureOf(answer), what, said + missing, { retryAfterMs: retryAfterMs(answer) })
}

/** It names itself in a header; emulators do not, but tell the generation of contents and the kind of all else. */
const isOfService = ({ headers, status, body, error }: GcsAnswer): boolean =>
  headers['x-guploader-uploadid'] !== undefined ||
  headers['x-goog-generation'] !== undefined ||
  error?.reason !== undefined ||
  (status < 300 && (isNothing(body) || body.subarray(0, kindBytes).includes('"storage#')))

/** The kind is told first, or soon. */
const kindBytes = 4_096

/** What removing answers. */
const isNothing = (body: Buffer): boolean => body.length < 10 && /^\s*(?:null\s*)?$/.test(body.toString())

/** The service at a host. */
export const gcsService = (
  host: string,
  address: Pick<StoreAddress, 'mayBeRefused'> | undefined,
): Service<GcsAnswer> => ({
  isOfService,
  answerError,
  foreignAnswer: (what, { status }) =>
    failed('unreachable', what, `${status} without anything that Cloud Storage answers`),
  networkError,
  noEndpoint: (what, found) => noEndpoint(what, host, 'Cloud Storage', found, address),
})
