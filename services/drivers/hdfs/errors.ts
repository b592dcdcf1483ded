import type { StoreAddress } from '../http/store-address.ts'
import type { FailureClass } from '../contract/driver.ts'
import { failuresWith, type Fixes } from '../http/failures.ts'
import { retryAfterMs, type Service } from '../http/requests.ts'
import type { StoreAnswer } from '../http/transport.ts'

/** An answer of WebHDFS. */
export interface HdfsAnswer extends StoreAnswer {
  /** Of an answer in JSON that is no error. */
  readonly json: unknown
  /** Class of the Java exception without its package (`FileNotFoundException`); undefined on success and from proxies. */
  readonly exception: string | undefined
  /** First line of its message. */
  readonly message: string
}

/** The exceptions of name nodes and data nodes, as the engine takes them; from the sources of Hadoop and what was seen. */
const failureOfException: Readonly<Record<string, FailureClass>> = {
  FileNotFoundException: 'gone',
  AccessControlException: 'permission',
  SnapshotAccessControlException: 'permission',
  SnapshotException: 'unsupported',
  AuthenticationException: 'refused',
  AuthorizationException: 'refused',
  InvalidToken: 'refused',
  SecurityException: 'refused',
  FileAlreadyExistsException: 'unsupported',
  ParentNotDirectoryException: 'unsupported',
  PathIsNotDirectoryException: 'unsupported',
  PathIsNotEmptyDirectoryException: 'unsupported',
  UnsupportedOperationException: 'unsupported',
  InvalidPathException: 'name',
  PathComponentTooLongException: 'name',
  MaxDirectoryItemsExceededException: 'full',
  DSQuotaExceededException: 'full',
  NSQuotaExceededException: 'full',
  QuotaByStorageTypeExceededException: 'full',
  DiskOutOfSpaceException: 'full',
  RetriableException: 'throttled',
  RpcNoSuchMethodException: 'unreachable',
  SafeModeException: 'unreachable',
  StandbyException: 'unreachable',
  ObserverRetryOnActiveException: 'unreachable',
  ConnectException: 'unreachable',
  NoRouteToHostException: 'unreachable',
  SocketTimeoutException: 'unreachable',
}

const failureOfStatus: Readonly<Record<number, FailureClass>> = {
  401: 'refused',
  403: 'io',
  414: 'name',
  429: 'throttled',
  503: 'throttled',
}

const fixes: Fixes = {
  refused:
    "check user, or kerberosPrincipal and kerberosKeytab, the cluster's authentication and this machine's clock",
  permission: 'give the user the right, in the folders above too, or use the superuser of the cluster',
  unreachable:
    'check defaultFS, the addresses of the name nodes, network, and whether the cluster is in safe mode',
  throttled: 'lower gantry.hdfs.connections or try later',
  unsupported: 'delete what stands there, or leave it out',
  name: 'rename it at the source, or leave it out',
  full: 'raise the quota of the folder, or add space to the cluster',
}

const { failed, networkError, noEndpoint } = failuresWith(fixes)
export { failed }

/** The class of an answer that is not a success. */
export function failureOf({ status, exception, message }: HdfsAnswer): FailureClass {
  // HDFS says by words alone that no data node takes a block: none is up, or none has space.
  if (exception === 'IOException' && /could only be (?:replicated|written) to/.test(message)) return 'full'
  if (exception === 'IOException' && /^(?:Invalid path name|Invalid file name)/.test(message)) return 'name'
  const known = exception === undefined ? undefined : failureOfException[exception]
  return known ?? failureOfStatus[status] ?? (status >= 500 || exception === undefined ? 'unreachable' : 'io')
}

/** Whether another token may be taken: this one has ended, was cancelled, or is of before the name nodes were made anew. */
export const isTokenRefused = (answer: HdfsAnswer): boolean =>
  !isOfStandby(answer) && (isOfFilter(answer) || failureOf(answer) === 'refused')

/** Whether another name node of the cluster may answer it: this one is not the active one, or is about to become it. */
export const isOfStandby = ({ exception }: HdfsAnswer): boolean =>
  exception === 'StandbyException' ||
  exception === 'RetriableException' ||
  exception === 'ObserverRetryOnActiveException'

/**
 * The filter in front of a cluster with Kerberos, which answers before the cluster does and has no JSON: it takes back the
 * cookie of whoever it does not know.
 */
const isOfFilter = ({ exception, headers }: HdfsAnswer): boolean =>
  exception === undefined && /(?:^|, )hadoop\.auth=/.test(headers['set-cookie'] ?? '')

/** Name nodes and data nodes answer with JSON, with bytes, or with nothing; proxies and sign-in pages with HTML. */
const isOfService = (answer: HdfsAnswer): boolean => {
  const { status, json, exception, headers, body } = answer
  if (json !== undefined || exception !== undefined) return true
  if (status === 401 || status === 403) return isOfFilter(answer)
  return status < 300 && (body.length === 0 || isContent({ headers }))
}

/** Whether an answer is what a file has, and not a page of somebody else's. */
export const isContent = ({ headers }: Pick<HdfsAnswer, 'headers'>): boolean =>
  headers['content-type']?.startsWith('application/octet-stream') === true

/** @param hasTickets whether whoever asks says so by Kerberos */
export function hdfsService(
  host: string,
  hasTickets: boolean,
  address: Pick<StoreAddress, 'mayBeRefused'> | undefined,
): Service<HdfsAnswer> {
  const filtered = hasTickets
    ? 'the cluster does not take the ticket'
    : 'the cluster wants Kerberos; give kerberosPrincipal and kerberosKeytab'
  return {
    isOfService,
    // `what` names operation and object, such as `put of /a.txt to cluster example`.
    answerError: (what, answer) => {
      const { status, exception, message } = answer
      if (isOfFilter(answer)) return failed('refused', what, `${status}, ${filtered}`)
      const said =
        exception === undefined ? `${status} without an exception of Hadoop` : `${exception}: ${message}`
      return failed(failureOf(answer), what, said, { retryAfterMs: retryAfterMs(answer) })
    },
    foreignAnswer: (what, { status }) =>
      failed('unreachable', what, `${status} without anything that WebHDFS answers`),
    networkError,
    noEndpoint: (what, found) => noEndpoint(what, host, 'WebHDFS', found, address),
  }
}
