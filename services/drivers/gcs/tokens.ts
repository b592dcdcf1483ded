import type { Recipient } from '../host-credentials/permission.ts'

/** "OAuth 2.0 scopes for Google APIs": reads and writes objects, and changes no permissions. */
const storageScope = 'https://www.googleapis.com/auth/devstorage.read_write'
/** Reads subscriptions. */
const pubSubScope = 'https://www.googleapis.com/auth/pubsub'

/** What tokens are for, with a blank between two. */
export const scopeOf = ({ pubSubSubscription }: { readonly pubSubSubscription?: string }): string =>
  pubSubSubscription === undefined ? storageScope : `${storageScope} ${pubSubScope}`

/** Gives requests their tokens. */
export interface TokenSource {
  /** @param nowMs by the service's clock */
  get(nowMs: number): Promise<string>
  /** It is not taken any more: the next one is another. */
  forget(token: string): void
}

/** Who asks, and whether he may where that depends on the host. */
export interface Credentials {
  /** Undefined for requests of nobody. */
  readonly tokens: TokenSource | undefined
  /** Throws GantryError NOT_ACCEPTED where an administrator does not allow it. */
  readonly require?: () => void
}

/** What tokens are for, and whom they are sent to. */
export interface Access {
  /** With a blank between two. */
  readonly scope: string
  readonly recipients: readonly Recipient[]
}
