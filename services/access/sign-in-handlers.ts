import type { Log } from '../../broker/log.ts'
import type { Sealer } from '../../broker/seal.ts'
import type { Call, Contract, Handlers, Output } from '../../subjects/contract.ts'
import { GantryError } from '../../subjects/errors.ts'
import { callbackPath, type signIn as contracts } from '../../subjects/sign-in.ts'
import { type Gate, requestOf } from './audit.ts'
import { callersKey } from './callers.ts'
import { beginCode, completeCode, endSessionUrl, exchangeToken } from './code-flow.ts'
import { beginDevice, pollDevice } from './device-flow.ts'
import { flowMs, isLoopbackRedirect, openDeviceFlow, openFlow, sealFlow } from './flow.ts'
import type { IdentityProvider } from './identity-provider.ts'
import type { KeyCollection } from './keys.ts'
import { revoked } from './narrow.ts'
import type { Person, Session } from './people.ts'
import { Refused, Unreachable } from './refused.ts'

export interface SignInDependencies extends Gate {
  /** undefined when there is none: nobody can sign in. */
  readonly provider: IdentityProvider | undefined
  /** Where browsers reach the platform. */
  readonly publicUrl: string
  readonly sealer: Sealer
  readonly keys: KeyCollection
  /** Drops every live connection of a key. */
  readonly kick: (keyId: string) => Promise<void>
  readonly log: Log
}

/** Sign-in by the identity provider. */
export function signInHandlers(dependencies: SignInDependencies): Handlers<typeof contracts> {
  const { publicUrl, sealer, keys, kick, log } = dependencies
  const requireProvider = (): IdentityProvider => {
    if (dependencies.provider !== undefined) return dependencies.provider
    throw new GantryError(
      'UNAVAILABLE',
      'nobody can sign in: no identity provider is configured (oidc.issuer)',
    )
  }
  /** The caller learns no more than that it was refused. */
  const guarded = async <T>(call: Call<Contract>, work: () => Promise<T>): Promise<T> => {
    const { requestId } = call
    try {
      return await work()
    } catch (error) {
      if (error instanceof Unreachable) {
        log.warn({ reason: error.message, requestId }, 'A sign-in failed: the identity provider is away.')
        throw new GantryError('UNAVAILABLE', 'the identity provider does not answer; try again later')
      }
      if (!(error instanceof Refused) && !isUnauthenticated(error)) throw error
      log.warn({ reason: error.message, requestId }, 'Refused a sign-in.')
      const answer = new GantryError(
        'UNAUTHENTICATED',
        'the sign-in was refused; the platform’s log says why',
      )
      if (error instanceof Refused) dependencies.refused(answer, requestOf(call))
      throw answer
    }
  }
  /** Lets the person in whom `identify` finds. */
  const admit = (call: Call<Contract>, identify: () => Promise<Person>) =>
    guarded(call, async () => signedIn(await dependencies.signIn(await identify(), requestOf(call))))
  return {
    begin: async ({ client, redirectUri }, call) => {
      const allowed =
        client === 'ui' ? redirectUri === `${publicUrl}${callbackPath}` : isLoopbackRedirect(redirectUri)
      if (!allowed) {
        const places = { ui: `${publicUrl}${callbackPath}`, cli: 'http://127.0.0.1:<port>/callback' }
        throw call.fail('INVALID_INPUT', `redirectUri must be ${places[client]}`)
      }
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
        return { session: signedIn(await dependencies.signIn(found, requestOf(call))) }
      })
    },
    out: async (_, call) => {
      const { id, kind } = await callersKey(keys, call.caller)
      if (kind !== 'session')
        throw call.fail('NOT_ALLOWED_IN_STATE', `key ${id} is no session; revoke it to end it`)
      await keys.update(id, revoked)
      call.afterReply(() => kick(id))
      const url = dependencies.provider && endSessionUrl(dependencies.provider)
      return url === undefined ? {} : { endSessionUrl: url }
    },
  }
}

const isUnauthenticated = (error: unknown): error is GantryError =>
  error instanceof GantryError && error.code === 'UNAUTHENTICATED'

const signedIn = ({ token, key, user, narrowed }: Session): Output<(typeof contracts)['complete']> => ({
  token,
  // A session always ends.
  expires: key.expires!,
  user,
  narrowed: [...narrowed],
})
