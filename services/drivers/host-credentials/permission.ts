import { notAccepted } from '../../../subjects/kit/errors.ts'
import { product } from '../../../subjects/kit/names.ts'
import { AllowedView, type StoreBounds } from '../contract/bounds.ts'
import { StoreError } from '../contract/driver.ts'
import type { StoreAddress } from '../http/store-address.ts'
import type { StoreEndpoint } from '../http/transport.ts'

/** The command with which an administrator allows filesystems to use credentials of the host. */
const setHostCredentials = `${product} settings put --host-credentials …`

/** Where credentials go. */
export interface Recipient {
  readonly endpoint: StoreEndpoint
  readonly address: StoreAddress | undefined
  /** Whether the host is one of the cloud's that the credentials are of. */
  readonly isCloud: boolean
  /** The option that names it. */
  readonly field: string
}

/**
 * What a filesystem wants of the host's credentials, and whether an administrator allows that: whoever may add a filesystem
 * would act with the rights of the host else.
 */
export class HostPermission {
  readonly #view: AllowedView | undefined
  readonly #wanted: readonly string[]
  readonly #field: string
  readonly #recipients: readonly Recipient[]

  /**
   * @param bounds without them nothing is allowed, and `require` looks at nothing
   * @param wanted entries of the setting `hostCredentials`; any of them will do
   * @param field the option that wants them
   * @param recipients whom the credentials are sent to
   */
  constructor(
    bounds: StoreBounds | undefined,
    wanted: readonly string[],
    field: string,
    recipients: readonly Recipient[] = [],
  ) {
    this.#view = bounds && new AllowedView(bounds)
    this.#wanted = wanted
    this.#field = field
    this.#recipients = recipients
  }

  /** Those that are wanted and allowed, in the order in which they are wanted. */
  get #allowed(): readonly string[] {
    const allowed = this.#view?.allowed.hostCredentials ?? []
    return this.#wanted.filter((one) => allowed.includes(one))
  }

  /** Throws GantryError NOT_ACCEPTED where nothing is allowed, or where the credentials would go to others than their cloud. */
  require(): void {
    if (this.#view === undefined) return
    const problem = this.#problem()
    if (problem !== undefined) throw notAccepted(problem.field, problem.text)
  }

  /** The same for who is about to use them. Throws StoreError `refused`. */
  use(): readonly string[] {
    const problem = this.#problem()
    if (problem !== undefined) throw new StoreError('refused', `${problem.field} ${problem.text}`)
    return this.#allowed
  }

  #problem(): Problem | undefined {
    if (this.#allowed.length === 0) {
      const wanted = this.#wanted.join(' or ')
      const text = `uses credentials of the host, which filesystems and catalogs may not: an administrator can add ${wanted} to the setting hostCredentials with "${setHostCredentials}" (each call replaces the list), or give credentials of its own`
      return { field: this.#field, text }
    }
    return this.#recipients.map(problemOf).find((problem) => problem !== undefined)
  }
}

interface Problem {
  readonly field: string
  readonly text: string
}

/** Why credentials are not sent there. */
export function problemOf({ endpoint, address, isCloud, field }: Recipient): Problem | undefined {
  const { host, secure } = endpoint
  if ((isCloud && secure) || address?.isNamed === true) return undefined
  const text = `would get credentials of the host, and ${host} is no endpoint of that cloud by HTTPS: an administrator can add ${host} to the setting storeHosts`
  return { field, text }
}
