import type { HostIdentity } from '../../../subjects/filesystems/host-identities.ts'
import { notAccepted } from '../../../subjects/kit/errors.ts'
import { product } from '../../../subjects/kit/names.ts'
import { AllowedView, type StoreBounds } from '../contract/bounds.ts'
import { StoreError } from '../contract/driver.ts'
import type { StoreAddress } from '../http/store-address.ts'
import type { StoreEndpoint } from '../http/transport.ts'

/** The command with which an administrator allows filesystems to use credentials of the host. */
const setHostCredentials = `${product} settings put --host-credentials …`

/**
 * What an identity that is wanted is called, where a host may have several: undefined where only the host says, and `useNamed`
 * is asked then. One that is left out has no name.
 */
export type IdentityNames = Readonly<Partial<Record<HostIdentity, string | undefined>>>

/** What that identity is called which a host has without being asked for one of several. */
export const ownName = 'default'

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
  readonly #names: IdentityNames

  /**
   * @param bounds without them nothing is allowed, and `require` looks at nothing
   * @param wanted entries of the setting `hostCredentials`; any of them will do
   * @param field the option that wants them
   * @param recipients whom the credentials are sent to
   * @param names what identities among those that are wanted are called
   */
  constructor(
    bounds: StoreBounds | undefined,
    wanted: readonly string[],
    field: string,
    recipients: readonly Recipient[] = [],
    names: IdentityNames = {},
  ) {
    this.#view = bounds && new AllowedView(bounds)
    this.#wanted = wanted
    this.#field = field
    this.#recipients = recipients
    this.#names = names
  }

  /** Those that are wanted and allowed, in the order in which they are wanted. */
  get #allowed(): readonly string[] {
    return this.#wanted.filter((one) => {
      if (!Object.hasOwn(this.#names, one)) return this.#entries.includes(one)
      const name = this.#names[one as HostIdentity]
      return name === undefined ? this.#isNamed(one) : this.#allows(one, name)
    })
  }

  get #entries(): readonly string[] {
    return this.#view?.allowed.hostCredentials ?? []
  }

  /** Whether all identities of that sort are allowed, or that one. */
  #allows(identity: string, name: string): boolean {
    return this.#entries.includes(identity) || this.#entries.includes(`${identity}:${name}`)
  }

  /** Whether any identity of that sort is allowed. */
  #isNamed(identity: string): boolean {
    return this.#entries.some((entry) => entry === identity || entry.startsWith(`${identity}:`))
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

  /** The same for an identity whose name the host has told. Throws StoreError `refused`. */
  useNamed(identity: HostIdentity, name: string): void {
    if (!this.#allows(identity, name))
      throw new StoreError('refused', `${this.#field} ${otherNamed(identity)}`)
  }

  #problem(): Problem | undefined {
    if (this.#allowed.length === 0) {
      const wanted = this.#wanted.join(' or ')
      const named = this.#wanted.find((one) => Object.hasOwn(this.#names, one) && this.#isNamed(one))
      if (named !== undefined) return { field: this.#field, text: otherNamed(named) }
      const text = `uses credentials of the host, which filesystems and catalogs may not: an administrator can add ${wanted} to the setting hostCredentials with "${setHostCredentials}" (each call replaces the list), or give credentials of its own`
      return { field: this.#field, text }
    }
    return this.#recipients.map(problemOf).find((problem) => problem !== undefined)
  }
}

/** Names of roles are nobody's business who cannot see them on the host: none is told. */
const otherNamed = (identity: string): string =>
  `uses credentials of the host of which the setting hostCredentials names others alone: an administrator can add ${identity}:NAME for this one, or ${identity} for all of them, with "${setHostCredentials}" (each call replaces the list)`

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
