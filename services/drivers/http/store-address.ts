import { isIP, type LookupFunction } from 'node:net'
import {
  InnerAddressError,
  isInner,
  isMetadata,
  outerLookup,
} from '../../../broker/common/inner-addresses.ts'
import { hostAt, type InnerHosts, innerHosts, setStoreHosts } from '../../../broker/common/inner-hosts.ts'
import { notAccepted } from '../../../subjects/kit/errors.ts'
import { AllowedView, type StoreBounds } from '../contract/bounds.ts'

/**
 * Checks that addresses of a store still are where stores may be. Throws GantryError NOT_ACCEPTED that names the option.
 * @param field the option that they come from
 */
export function requireAddresses(addresses: readonly StoreAddress[], field: string): void {
  try {
    for (const address of addresses) address.require()
  } catch (error) {
    if (!(error instanceof InnerAddressError)) throw error
    throw notAccepted(field, error.message)
  }
}

/**
 * Keeps the requests of a store's driver out of this host and inner networks, unless an administrator allows it: whoever
 * may add a filesystem chooses the endpoint, and services there trust whoever reaches them.
 */
export class StoreAddress {
  readonly #host: string
  readonly #port: number
  readonly #view: AllowedView
  #version = -1
  #allowed: InnerHosts | undefined

  constructor({ host, port }: { readonly host: string; readonly port: number }, bounds: StoreBounds) {
    this.#host = host
    this.#port = port
    this.#view = new AllowedView(bounds)
  }

  /** Another number after each change of what is allowed: connections of before may be to what no longer is. */
  get version(): number {
    return this.#view.version
  }

  /** Throws InnerAddressError for an inner address; a name is judged by `lookup`, when it is connected to. */
  require(): void {
    if (isIP(this.#host) > 0 && isMetadata(this.#host)) throw this.#refused()
    const isInnerHost = /(?:^|\.)localhost$/.test(this.#host) || (isIP(this.#host) > 0 && isInner(this.#host))
    if (isInnerHost && !this.#allows(this.#host)) throw this.#refused()
  }

  /** Resolves the host's name; fails with InnerAddressError when it leads where it may not. */
  readonly lookup: LookupFunction = (hostname, options, callback) => {
    const isAllowed = this.#allows(hostname)
    outerLookup(
      (address) => !isMetadata(address) && (isAllowed || this.#allows(address)),
      () => this.#refused(),
    )(hostname, options, callback)
  }

  /** Whether an administrator has named it, and not just any place. */
  get isNamed(): boolean {
    return this.#allows(this.#host) && this.#allowed !== undefined
  }

  /** Whether `lookup` may refuse it: a name that may lead to an inner network, and that no administrator has named. */
  get mayBeRefused(): boolean {
    return isIP(this.#host) === 0 && !this.#allows(this.#host)
  }

  #allows(host: string): boolean {
    const { version } = this.#view
    if (version !== this.#version) {
      const { hosts } = this.#view.allowed
      this.#allowed = hosts && innerHosts(hosts)
      this.#version = version
    }
    if (this.#allowed === undefined) return true
    const { names, networks } = this.#allowed
    if (names.has(host) || names.has(hostAt(host, this.#port))) return true
    const family = isIP(host)
    return family > 0 && networks.check(host, family === 6 ? 'ipv6' : 'ipv4')
  }

  #refused(): InnerAddressError {
    const place = hostAt(this.#host, this.#port)
    if (isIP(this.#host) > 0 && isMetadata(this.#host))
      return new InnerAddressError(
        this.#host,
        'clouds keep the credentials of machines there: give that of a store',
      )
    return new InnerAddressError(
      this.#host,
      `an administrator can add ${place} to the setting storeHosts with "${setStoreHosts}" (each call replaces the list), if that is intended`,
    )
  }
}
