/** "OAuth 2.0 scopes for Google APIs": reads and writes objects, and changes no permissions. */
export const scope = 'https://www.googleapis.com/auth/devstorage.read_write'

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
