import * as client from 'openid-client'
import type { Log } from '../../../broker/common/log.ts'
import type { Sealer } from '../../../broker/identity/seal.ts'
import type { Output } from '../../../subjects/kit/contract.ts'
import { GantryError } from '../../../subjects/kit/errors.ts'
import { maxSessionHours } from '../../../subjects/access/settings.ts'
import type { signIn as contracts } from '../../../subjects/access/sign-in.ts'
import { endSessionUrl } from './code-flow.ts'
import type { IdentityProvider } from './identity-provider.ts'
import type { KeyCollection, StoredKey } from '../keys/keys.ts'
import { revoked } from '../keys/narrow.ts'
import { verifyToken } from './oidc-token.ts'
import { Refused } from '../refused.ts'
import {
  accessClaims,
  type Grant,
  grantOf,
  ofProvider,
  rulesOf,
  type Tokens,
  type VerifiedIdentity,
} from '../verified-identity.ts'

/** How long a session lasts, and when to refresh it. */
type Lasting = Output<(typeof contracts)['refresh']>

/** Late enough that most sessions end without one, and early enough that a provider may be away for hours. */
const shareBeforeRefresh = 2 / 3
const hourMs = 3_600_000

export interface RefreshOptions {
  readonly keys: KeyCollection
  readonly sealer: Sealer
  /** How long a sign-in lasts by the settings. */
  readonly sessionHours: () => Promise<number>
  readonly log: Log
}

/**
 * Sessions that their provider vouches for again. What they may do stays as it was decided at the sign-in, so that none
 * goes on for longer than a session may last at all.
 */
export class SessionRefresh {
  readonly #options: RefreshOptions
  /** By key: a provider that gives out each token once takes a second use of one for theft. */
  readonly #underWay = new Map<string, Promise<Lasting>>()

  constructor(options: RefreshOptions) {
    this.#options = options
  }

  /** Keeps what a session that has just begun can be refreshed and ended with at the provider. */
  async begin(
    session: StoredKey,
    { grant, idToken }: Pick<VerifiedIdentity, 'grant' | 'idToken'>,
  ): Promise<Lasting> {
    if (grant === undefined && idToken === undefined) return { expires: session.expires! }
    const { keys, sealer } = this.#options
    const kept = {
      ...(grant === undefined ? {} : { refresh: this.#sealed(grant) }),
      ...(idToken === undefined ? {} : { sealedIdToken: sealer.seal(idToken) }),
    }
    return lastingOf(await keys.update(session.id, (key) => ({ ...key, ...kept })))
  }

  /** Page of the provider that ends the session there; undefined when it has none, or has not been asked yet. */
  endSessionUrl(provider: IdentityProvider, { sealedIdToken }: StoredKey): string | undefined {
    return endSessionUrl(provider, sealedIdToken && this.#options.sealer.open(sealedIdToken))
  }

  /**
   * Lengthens a session.
   * @throws Refused when the provider vouches for the person no more: the session has ended, and its connections are to go
   * @throws Unreachable, GantryError UNAVAILABLE, NOT_ALLOWED_IN_STATE: the session stays as it is
   */
  refresh(provider: IdentityProvider, session: StoredKey): Promise<Lasting> {
    const { id } = session
    const known = this.#underWay.get(id)
    if (known !== undefined) return known
    const refreshed = this.#refresh(provider, session).finally(() => this.#underWay.delete(id))
    this.#underWay.set(id, refreshed)
    return refreshed
  }

  async #refresh(provider: IdentityProvider, session: StoredKey): Promise<Lasting> {
    const { keys, sealer, sessionHours } = this.#options
    const { id, owner } = session
    let refresh = refreshOf(session)
    const { client: kind } = refresh
    try {
      const tokens = await askAgain(provider, kind, sealer.open(refresh.sealedToken))
      const next = grantOf(kind, tokens)
      if (next !== undefined) {
        // First of all: the provider may not take the one before any more.
        refresh = this.#sealed(next)
        await this.#update(id, (key) => ({ ...key, refresh }))
      }
      await requireSubject(provider, kind, tokens, owner)
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      // Another node may have had it refreshed meanwhile.
      const current = await keys.update(id, (key) =>
        key.refresh === undefined || key.refresh.sealedToken === refresh.sealedToken
          ? revoked(key)
          : undefined,
      )
      if (current.revoked === undefined) return lastingOf(current)
      throw error
    }
    const hours = await sessionHours()
    return lastingOf(await this.#update(id, (key) => lengthened(key, hours)))
  }

  /** Somebody may have signed out meanwhile. */
  #update(id: string, change: (session: StoredKey) => StoredKey): Promise<StoredKey> {
    return this.#options.keys.update(id, (key) => (key.revoked === undefined ? change(key) : undefined))
  }

  /** Tells the provider that a session's token is not needed any more. It may be away: the token ends there by itself. */
  async forget(provider: IdentityProvider, { id, refresh }: StoredKey): Promise<void> {
    if (refresh === undefined) return
    const { sealer, log } = this.#options
    try {
      const { clients } = await provider.known()
      const configured = clients[refresh.client]
      if (configured.serverMetadata().revocation_endpoint === undefined) return
      await client.tokenRevocation(configured, sealer.open(refresh.sealedToken), {
        token_type_hint: 'refresh_token',
      })
      log.debug({ key: id }, 'The identity provider revoked the token of a session that ended.')
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      log.warn({ key: id, reason }, 'The identity provider did not revoke the token of a session that ended.')
    }
  }

  #sealed({ client: kind, refreshToken, until }: Grant): NonNullable<StoredKey['refresh']> {
    return {
      client: kind,
      sealedToken: this.#options.sealer.seal(refreshToken),
      ...(until === undefined ? {} : { until: new Date(until).toISOString() }),
    }
  }
}

/** @throws GantryError NOT_ALLOWED_IN_STATE when the session cannot be refreshed */
function refreshOf({ refresh, expires }: StoredKey): NonNullable<StoredKey['refresh']> {
  if (refresh === undefined)
    throw new GantryError('NOT_ALLOWED_IN_STATE', `this session cannot be refreshed; it ends at ${expires}`)
  if (refresh.until === undefined || Date.parse(refresh.until) > Date.now()) return refresh
  throw new GantryError(
    'NOT_ALLOWED_IN_STATE',
    `the identity provider rejects refreshes since ${refresh.until}; the session ends at ${expires}`,
  )
}

/** New tokens. @throws Refused when the sign-in has ended at the provider; whatever else it says ends no session */
async function askAgain(
  provider: IdentityProvider,
  kind: Grant['client'],
  refreshToken: string,
): Promise<Tokens> {
  const { clients } = await provider.known()
  return ofProvider(
    'refreshed tokens',
    () => client.refreshTokenGrant(clients[kind], refreshToken),
    (error) => error instanceof client.ResponseBodyError && error.error === 'invalid_grant',
  )
}

/** @throws Refused when the tokens are not about this person, Unreachable */
async function requireSubject(
  provider: IdentityProvider,
  kind: Grant['client'],
  tokens: Tokens,
  subject: string,
): Promise<void> {
  const discovered = await provider.known()
  const rules = rulesOf(provider, discovered)
  if (tokens.id_token === undefined) {
    // It need not come with a refresh; the access token, or the page about the person, says who that is.
    if ((await accessClaims(tokens.access_token, rules, subject)).length > 0) return
    await ofProvider('the user info', () =>
      client.fetchUserInfo(discovered.clients[kind], tokens.access_token, subject),
    )
    return
  }
  const { sub } = await verifyToken(tokens.id_token, rules)
  if (sub !== subject) throw new Refused('the refreshed ID token belongs to another user')
}

const lastEndMs = ({ created }: StoredKey): number => Date.parse(created) + maxSessionHours * hourMs

function lengthened(key: StoredKey, hours: number): StoredKey {
  const asked = Math.min(Date.now() + hours * hourMs, lastEndMs(key))
  return { ...key, expires: new Date(Math.max(asked, Date.parse(key.expires!))).toISOString() }
}

/** Of a session that began or was refreshed just now. */
function lastingOf(key: StoredKey): Lasting {
  const expires = key.expires!
  const now = Date.now()
  const end = Math.min(...[expires, key.refresh?.until ?? expires].map((time) => Date.parse(time)))
  if (key.refresh === undefined || Date.parse(expires) >= lastEndMs(key)) return { expires }
  return { expires, refreshAfter: new Date(now + (end - now) * shareBeforeRefresh).toISOString() }
}
