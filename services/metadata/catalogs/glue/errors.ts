import { InnerAddressError } from '../../../../broker/common/inner-addresses.ts'
import { type FailureClass, StoreError } from '../../../drivers/contract/store-error.ts'
import { UnreadableAnswer } from './answers.ts'
import { failuresWith } from '../../../drivers/http/failures.ts'

/** By the names of Glue's exceptions, and of those that all of Amazon's services have. */
const failureOfName = new Map<string, FailureClass>(
  Object.entries({
    AccessDeniedException: 'permission',
    AlreadyExistsException: 'changed',
    ConcurrentModificationException: 'changed',
    ConcurrentRunsExceededException: 'throttled',
    ConditionCheckFailureException: 'changed',
    EntityNotFoundException: 'gone',
    FederatedResourceAlreadyExistsException: 'changed',
    FederationSourceException: 'io',
    FederationSourceRetryableException: 'throttled',
    GlueEncryptionException: 'permission',
    IncompleteSignature: 'refused',
    InvalidClientTokenId: 'refused',
    InvalidInputException: 'unsupported',
    MissingAuthenticationToken: 'refused',
    OperationTimeoutException: 'unreachable',
    ResourceNotReadyException: 'throttled',
    ResourceNumberLimitExceededException: 'full',
    ServiceUnavailable: 'throttled',
    ThrottledException: 'throttled',
    ThrottlingException: 'throttled',
    UnknownOperationException: 'unsupported',
    ValidationException: 'unsupported',
  } as const),
)

const { failed, networkError, noEndpoint } = failuresWith({
  permission: 'allow it for the key in an IAM policy, and in Lake Formation if that governs the catalog',
  refused: "check accessKey, secretKey, sessionToken, awsRegion and this machine's clock",
  unreachable: 'check glueEndpoint, awsRegion, network and the state of the service',
  throttled: 'try again later, or lower glueMaxConnections',
  full: 'delete unused objects, or request a higher quota for the account',
})
export { failed }

/** Longest text of a service that goes on in messages. */
const maxMessageLength = 1_000

/** An answer that Glue never gives. The SDK tries again where `$retryable` is there. */
export class ForeignAnswer extends Error {
  readonly $retryable?: { readonly throttling: boolean }

  constructor(status: number) {
    super(`${status} with a reply that is not from Glue`)
    if (status >= 500 || status === 429) this.$retryable = { throttling: status === 429 || status === 503 }
  }
}

/** What of an exception of the SDK says that it is the service's own. */
interface ServiceException extends Error {
  readonly $fault?: 'client' | 'server'
  readonly $metadata?: { readonly httpStatusCode?: number; readonly requestId?: string }
}

/** The class of an error that Glue has named. */
export function failureOfCode(name: string | undefined, status = 400): FailureClass {
  const known = name === undefined ? undefined : failureOfName.get(name)
  if (known !== undefined) return known
  // Whatever else is said about credentials or signatures.
  if (/Token|Signature|Credential|UnrecognizedClient/.test(name ?? '')) return 'refused'
  if (status === 403) return 'permission'
  if (status === 429) return 'throttled'
  return status >= 500 ? 'unreachable' : 'io'
}

/** Whether other credentials of the same source may help. */
export const isExpired = (error: unknown): boolean =>
  error instanceof Error && /Expired|UnrecognizedClient/.test(error.name)

export interface FailedAt {
  readonly what: string
  readonly host: string
  /** Nobody has spoken to the endpoint: what is there if it is no such service is not told. */
  readonly isProbe: boolean
}

/** The StoreError of what a call of the SDK threw. */
export function failureOf(error: unknown, { what, host, isProbe }: FailedAt): StoreError {
  // Of the credentials.
  if (error instanceof StoreError) return error
  const { name, message, $fault, $metadata } = error as ServiceException
  if ($fault !== undefined && !(error instanceof ForeignAnswer)) {
    const id = $metadata?.requestId
    const said = `${name}${message === '' ? '' : `: ${message.slice(0, maxMessageLength)}`}${id === undefined ? '' : ` (request ${id.slice(0, 100)})`}`
    return failed(failureOfCode(name, $metadata?.httpStatusCode), what, said, { cause: error })
  }
  const found =
    error instanceof InnerAddressError
      ? failed('refused', what, error.message, { cause: error })
      : error instanceof ForeignAnswer
        ? failed('unreachable', what, message, { cause: error })
        : error instanceof SyntaxError || error instanceof UnreadableAnswer
          ? failed('unreachable', what, 'the reply cannot be read', { cause: error })
          : networkError(what, error as NodeJS.ErrnoException)
  return isProbe ? noEndpoint(what, host, 'Glue', found) : found
}
