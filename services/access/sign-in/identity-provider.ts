import * as client from 'openid-client'
import { GantryError } from '../../../subjects/kit/errors.ts'
import type { Log } from '../../../broker/common/log.ts'
import type { OidcConfig } from '../../../config/platform.ts'
import { type ProviderKeys, providerKeys } from './oidc-token.ts'
import { Unreachable } from '../refused.ts'

/** Each request to the provider; a sign-in makes up to four. */
const requestTimeoutSeconds = 3
/** Somebody who begins a sign-in is not sent to a provider that is down; a crowd asks it once. */
const justSeenMs = 1_000
/** Health is looked at often, by anybody. */
const recentlySeenMs = 5_000

/** Who signs in: a page, or a program. They are different clients at the provider. */
export type ClientKind = 'ui' | 'cli'

/** What the provider says of itself, and what we need to talk to it. */
export interface Discovered {
  readonly issuer: string
  readonly clients: Readonly<Record<ClientKind, client.Configuration>>
  readonly keys: ProviderKeys
}

/**
 * The identity provider. It is asked about itself when somebody needs it, and again later, so that it may be down at any
 * time: who has a session needs it no more.
 */
export class IdentityProvider {
  readonly config: OidcConfig
  readonly #log: Log
  #known: { readonly atMs: number; readonly value: Discovered } | undefined
  #failed: { readonly atMs: number; readonly error: GantryError } | undefined
  #asking: Promise<Discovered> | undefined
  #keys: { readonly url: string; readonly keys: ProviderKeys } | undefined

  constructor(config: OidcConfig, log: Log) {
    this.config = config
    this.#log = log
  }

  /** For a sign-in that begins. @throws GantryError UNAVAILABLE when the provider does not answer */
  now(): Promise<Discovered> {
    return this.#seenWithin(justSeenMs)
  }

  /** For one under way: what is known already still holds. @throws GantryError UNAVAILABLE */
  known(): Promise<Discovered> {
    return this.#seenWithin(Number.POSITIVE_INFINITY)
  }

  /** What is known without asking. */
  get lastKnown(): Discovered | undefined {
    return this.#known?.value
  }

  /** What is wrong with the provider; undefined when it answers. */
  async problem(): Promise<string | undefined> {
    try {
      await this.#seenWithin(recentlySeenMs)
      return undefined
    } catch (error) {
      return (error as Error).message
    }
  }

  async #seenWithin(maxAgeMs: number): Promise<Discovered> {
    const now = performance.now()
    if (this.#known !== undefined && now - this.#known.atMs <= maxAgeMs) return this.#known.value
    if (this.#failed !== undefined && now - this.#failed.atMs <= justSeenMs) throw this.#failed.error
    this.#asking ??= this.#ask().finally(() => (this.#asking = undefined))
    return this.#asking
  }

  async #ask(): Promise<Discovered> {
    const { issuer } = this.config
    try {
      const value = await this.#discover()
      this.#known = { atMs: performance.now(), value }
      if (this.#failed !== undefined) this.#log.info({ issuer }, 'The identity provider responds again.')
      this.#failed = undefined
      return value
    } catch (cause) {
      const { message: reason } = new Unreachable('its discovery document', cause)
      if (this.#failed === undefined) {
        this.#log.warn({ issuer, reason }, 'The identity provider does not respond; nobody can sign in.')
      }
      const text = `nobody can sign in: the identity provider ${issuer} does not respond correctly (${reason})`
      const error = new GantryError('UNAVAILABLE', text, { cause })
      this.#failed = { atMs: performance.now(), error }
      throw error
    }
  }

  async #discover(): Promise<Discovered> {
    const { issuer, clientId, clientSecret, uiClientId, uiClientSecret } = this.config
    // The configuration has made sure that it is on this host.
    const insecure = issuer.startsWith('http:')
    const found = await client.discovery(new URL(issuer), clientId, undefined, client.None(), {
      timeout: requestTimeoutSeconds,
      ...(insecure ? { execute: [client.allowInsecureRequests] } : {}),
    })
    const server = found.serverMetadata()
    if (server.jwks_uri === undefined) throw new Error('it has no jwks_uri')
    if (!insecure && !server.jwks_uri.startsWith('https:'))
      throw new Error('its jwks_uri does not use https://')
    const configure = (id: string, secret: string | undefined) => {
      const metadata = { [client.clockTolerance]: this.config.clockSkewSeconds }
      const methods = server.token_endpoint_auth_methods_supported
      const configured = new client.Configuration(server, id, metadata, authenticationOf(secret, methods))
      configured.timeout = requestTimeoutSeconds
      if (insecure) client.allowInsecureRequests(configured)
      return configured
    }
    return {
      issuer: server.issuer,
      clients: { cli: configure(clientId, clientSecret), ui: configure(uiClientId, uiClientSecret) },
      keys: this.#keysAt(server.jwks_uri),
    }
  }

  /** Kept while they are at the same place, so that tokens can be verified while the provider is down. */
  #keysAt(url: string): ProviderKeys {
    if (this.#keys?.url !== url) this.#keys = { url, keys: providerKeys(url) }
    return this.#keys.keys
  }
}

/** How we show who we are; a provider that does not say what it takes takes Basic (OpenID Connect Discovery, section 3). */
function authenticationOf(secret: string | undefined, methods = ['client_secret_basic']): client.ClientAuth {
  if (secret === undefined) return client.None()
  return methods.includes('client_secret_post')
    ? client.ClientSecretPost(secret)
    : client.ClientSecretBasic(secret)
}
