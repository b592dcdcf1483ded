import { setStoreHosts } from '../../../broker/common/inner-hosts.ts'
import type { StoreAddress } from './store-address.ts'
import { type FailureClass, StoreError } from '../contract/driver.ts'

/** What the reader of a message can do about a failure, in the words of a kind of store. */
export type Fixes = Partial<Record<FailureClass, string>>

/** The StoreErrors of a service. */
export interface Failures {
  /** `<what>: <said>; <fix>` */
  readonly failed: (
    failure: FailureClass,
    what: string,
    said: string,
    options?: { cause?: unknown; retryAfterMs?: number | undefined },
  ) => StoreError
  /** Of a request that got no answer. */
  readonly networkError: (what: string, error: NodeJS.ErrnoException) => StoreError
  /**
   * For an endpoint that is no such service, or none that may be reached. It is the same whatever is there, and whether
   * anything is: else whoever may add filesystems could find out what runs in inner networks.
   * @param service what it is not, such as `Blob`
   * @param found for the log
   * @param address where the setting cannot be why, it is not spoken of
   */
  readonly noEndpoint: (
    what: string,
    host: string,
    service: string,
    found: StoreError,
    address?: Pick<StoreAddress, 'mayBeRefused'>,
  ) => StoreError
}

export function failuresWith(fixes: Fixes): Failures {
  const failed: Failures['failed'] = (failure, what, said, { cause, retryAfterMs } = {}) => {
    const fix = fixes[failure]
    return new StoreError(failure, `${what}: ${said}${fix === undefined ? '' : `; ${fix}`}`, {
      ...(cause === undefined ? {} : { cause }),
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    })
  }
  return {
    failed,
    networkError: (what, error) => {
      const { code, message } = error
      const said = code === undefined || message.includes(code) ? message : `${message} (${code})`
      return failed('unreachable', what, said, { cause: error })
    },
    noEndpoint: (what, host, service, found, address) => {
      const said = `${host} is no ${service} endpoint that can be reached`
      const inner =
        address?.mayBeRefused === false
          ? ''
          : `; in an inner network it must be in the setting storeHosts ("${setStoreHosts}")`
      return new StoreError('unreachable', `${what}: ${said}; ${fixes.unreachable}${inner}`, {
        cause: found,
        detail: found.message,
      })
    },
  }
}
