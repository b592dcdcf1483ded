import { Allowances, type Rate } from '../../../broker/limits/allowances.ts'
import { networkOf } from '../../../broker/messages/client-address.ts'
import type { Log } from '../../../broker/common/log.ts'
import type { Sealer } from '../../../broker/identity/seal.ts'
import type { Call, Contract, Handlers, Output } from '../../../subjects/kit/contract.ts'
import { GantryError } from '../../../subjects/kit/errors.ts'
import { callbackPath, type signIn as contracts } from '../../../subjects/access/sign-in.ts'
import { type Gate, requestOf } from '../audit.ts'
import { callersKey } from '../callers.ts'
import { beginCode, completeCode, exchangeToken } from './code-flow.ts'
import { beginDevice, pollDevice } from './device-flow.ts'
import { flowMs, isLoopbackRedirect, openDeviceFlow, openFlow, sealFlow } from './flow.ts'
import type { IdentityProvider } from './identity-provider.ts'
import type { KeyCollection, StoredKey } from '../keys/keys.ts'
import { revoked } from '../keys/narrow.ts'
import type { Session } from '../roles/people.ts'
import { SessionRefresh } from './refresh.ts'
import { Refused, Unreachable } from '../refused.ts'
import type { VerifiedIdentity } from '../verified-identity.ts'

/** The people of a company behind one address, all of whom begin their day; each beginning costs the provider a little. */
const beginningsOfAddress: Rate = { burst: 100, refillPerSecond: 1 }

export interface SignInDependencies extends Gate {
  /** undefined when there is none: nobody can sign in. */
  readonly provider: IdentityProvider | undefined
  /** Where browsers reach the platform. */
  readonly publicUrl: string
  readonly sealer: Sealer
  /** What refresh tokens are sealed with. */
  readonly refreshSealer: Sealer
  /** How long a sign-in lasts by the settings. */
  readonly sessionHours: () => Promise<number>
  readonly keys: KeyCollection
  /** Drops every live connection of a key. */
  readonly kick: (keyId: string) => Promise<void>
  readonly log: Log
}

/** Sign-in by the identity provider. */
export function signInHandlers(dependencies: SignInDependencies): Handlers<typeof contracts> {
  const { publicUrl, sealer, refreshSealer, sessionHours, keys, kick, log } = dependencies
  const refreshing = new SessionRefresh({ keys, sealer: refreshSealer, sessionHours, log })
  const requireProvider = (): IdentityProvider => {
    if (dependencies.provider !== undefined) return dependencies.provider
    throw new GantryError(
      'UNAVAILABLE',
      'sign-in is disabled because no identity provider is configured: set oidc.issuer in gantry.config',
    )
  }
  /** The caller learns no more than that it was refused. */
  const guarded = async <T>(call: Call<Contract>, work: () => Promise<T>): Promise<T> => {
    const { requestId } = call
    try {
      return await work()
    } catch (error) {
      if (error instanceof Unreachable) {
        log.warn(
          { reason: error.message, requestId },
          'A sign-in failed: the identity provider is unavailable.',
        )
        throw providerAway()
      }
      if (!(error instanceof Refused) && !isUnauthenticated(error)) throw error
      log.warn({ reason: error.message, requestId }, 'Refused a sign-in.')
      const answer = new GantryError(
        'UNAUTHENTICATED',
        'the sign-in was rejected; find the reason in the platform’s log by the request id',
      )
      if (error instanceof Refused) dependencies.refused(answer, requestOf(call))
      throw answer
    }
  }
  const beginnings = new Allowances(beginningsOfAddress)
  const admitBeginning = ({ clientAddress }: Call<Contract>): void => {
    if (clientAddress === undefined) return
    const network = networkOf(clientAddress)
    if (beginnings.left(network) < 1)
      throw new GantryError('THROTTLED', 'too many sign-ins from this address; try again in a minute')
    beginnings.charge(network)
  }
  const callersSession = async (call: Call<Contract>): Promise<StoredKey> => {
    const key = await callersKey(keys, call.caller)
    if (key.kind === 'session') return key
    throw new GantryError('NOT_ALLOWED_IN_STATE', `key ${key.id} is not a session: revoke it to end it`)
  }
  const begin = async (call: Call<Contract>, identity: VerifiedIdentity) => {
    const session = await dependencies.signIn(identity.person, requestOf(call))
    return signedIn(session, await refreshing.begin(session.key, identity))
  }
  /** Lets the person in whom `identify` finds. */
  const admit = (call: Call<Contract>, identify: () => Promise<VerifiedIdentity>) =>
    guarded(call, async () => begin(call, await identify()))
  return {
    begin: async ({ client, redirectUri }, call) => {
      const allowed =
        client === 'ui' ? redirectUri === `${publicUrl}${callbackPath}` : isLoopbackRedirect(redirectUri)
      if (!allowed) {
        const places = { ui: `${publicUrl}${callbackPath}`, cli: 'http://127.0.0.1:<port>/callback' }
        throw call.fail('NOT_ACCEPTED', `redirectUri must be ${places[client]}`)
      }
      admitBeginning(call)
      const { authorizationUrl, ...secrets } = await beginCode(requireProvider(), client, redirectUri)
      const expires = Date.now() + flowMs
      return {
        authorizationUrl,
        flow: sealFlow(sealer, { client, redirectUri, ...secrets, expires }),
        expires: new Date(expires).toISOString(),
      }
    },
    complete: ({ flow, callback }, call) => {
      const provider = requireProvider()
      return admit(call, () => completeCode(provider, openFlow(sealer, flow), callback))
    },
    exchange: ({ oidcToken }, call) => {
      const provider = requireProvider()
      return admit(call, () => exchangeToken(provider, oidcToken))
    },
    'device-begin': async (_, call) => {
      const provider = requireProvider()
      admitBeginning(call)
      const { secrets, verificationUriComplete, ...shown } = await guarded(call, () => beginDevice(provider))
      return {
        ...shown,
        ...(verificationUriComplete === undefined ? {} : { verificationUriComplete }),
        flow: sealFlow(sealer, secrets),
        expires: new Date(secrets.expires).toISOString(),
        waitSeconds: secrets.intervalSeconds,
      }
    },
    'device-poll': ({ flow }, call) => {
      const provider = requireProvider()
      return guarded(call, async () => {
        const found = await pollDevice(provider, openDeviceFlow(sealer, flow))
        if (typeof found === 'number') return { waitSeconds: found }
        return { session: await begin(call, found) }
      })
    },
    refresh: async (_, call) => {
      const provider = requireProvider()
      const session = await callersSession(call)
      const { id: key } = session
      try {
        return await refreshing.refresh(provider, session)
      } catch (error) {
        const { requestId } = call
        if (error instanceof Unreachable) {
          log.warn({ reason: error.message, key, requestId }, 'A session could not be refreshed.')
          throw providerAway()
        }
        if (!(error instanceof Refused)) throw error
        const text = 'A session ended because the identity provider refused to refresh it.'
        log.warn({ reason: error.message, key, requestId }, text)
        call.afterReply(() => kick(key))
        throw new GantryError(
          'UNAUTHENTICATED',
          'the identity provider has ended this sign-in; sign in again',
        )
      }
    },
    out: async (_, call) => {
      const session = await callersSession(call)
      const { provider } = dependencies
      await keys.update(session.id, revoked)
      call.afterReply(() => kick(session.id))
      if (provider === undefined) return {}
      call.afterReply(() => refreshing.forget(provider, session))
      const url = refreshing.endSessionUrl(provider, session)
      return url === undefined ? {} : { endSessionUrl: url }
    },
  }
}

const providerAway = () =>
  new GantryError('UNAVAILABLE', 'the identity provider does not respond; try again later')

const isUnauthenticated = (error: unknown): error is GantryError =>
  error instanceof GantryError && error.code === 'UNAUTHENTICATED'

const signedIn = (
  { token, user, narrowed }: Session,
  lasting: Output<(typeof contracts)['refresh']>,
): Output<(typeof contracts)['complete']> => ({
  token,
  ...lasting,
  user,
  narrowed: [...narrowed],
})
