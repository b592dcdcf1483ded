import type { Log } from '../../../broker/common/log.ts'
import type { AdminRules, OidcConfig } from '../../../config/platform.ts'
import type { Handlers, Output } from '../../../subjects/kit/contract.ts'
import { GantryError } from '../../../subjects/kit/errors.ts'
import { isLoopbackHost } from '../../../subjects/kit/names.ts'
import type { platform } from '../../../subjects/platform/platform.ts'
import type { signIn } from '../../../subjects/access/sign-in.ts'
import { bootstrapWarning, isBootstrap, isUnintended, warnOfBootstrap } from '../roles/bootstrap.ts'
import { developmentViewers, type Passwords } from '../../../config/development-accounts.ts'
import { type DevelopmentProvider, startDevelopmentProvider } from '../development-provider/index.ts'
import { IdentityProvider } from './identity-provider.ts'
import { type SignInDependencies, signInHandlers } from './handlers.ts'
import { viewer } from '../roles/built-in-roles.ts'
import type { AccessState } from '../state.ts'

type Info = Output<(typeof platform)['info']>
type Component = Output<(typeof platform)['health']>['components'][number]

/** Where and by whom people sign in. */
export interface SignInConfig {
  /** Configuration folder. */
  readonly home: string
  /** undefined when no provider is configured: then the development provider stands in, where it may. */
  readonly oidc: OidcConfig | undefined
  /** Address that the platform's REST server listens on. */
  readonly host: string
  /** Where browsers reach it. */
  readonly publicUrl: string
  /** How the command line is called. */
  readonly command: string
  /**
   * Where the development provider listens, beside the platform, whatever the address: somebody else sees to it that only
   * this host reaches both, as the host of a container does.
   */
  readonly developmentPort?: number | undefined
  /** Where it listens otherwise, when it starts for the first time. */
  readonly firstDevelopmentPort?: number
}

export interface SignIn {
  readonly handlers: Handlers<typeof signIn>
  /** What anybody may know. */
  readonly about: Pick<Info, 'identityProvider' | 'bootstrap'>
  /** The health of what sign-ins need; nothing else needs it. */
  components(): Promise<Component[]>
  /** Whether people sign in at the development provider. */
  readonly isDevelopment: boolean
  /** Of the development provider, when this is its first start. */
  readonly passwords: Partial<Passwords> | undefined
  stop(): Promise<void>
}

interface Surroundings extends Omit<SignInDependencies, 'provider' | 'publicUrl'> {
  readonly rules: AdminRules
  readonly assignments: AccessState['assignments']
  readonly log: Log
}

/** Starts what people sign in by. The provider itself is asked when the first one comes. */
export async function startSignIn(config: SignInConfig, surroundings: Surroundings): Promise<SignIn> {
  const { rules, log } = surroundings
  const development = config.oidc === undefined ? await standIn(config, surroundings) : undefined
  const oidc = config.oidc ?? development?.config
  const provider = oidc && new IdentityProvider(oidc, log)
  const warning = warnOfBootstrap(rules, log)
  return {
    handlers: signInHandlers({ ...surroundings, provider, publicUrl: config.publicUrl }),
    about: {
      ...(oidc === undefined
        ? {}
        : {
            identityProvider: {
              issuer: oidc.issuer,
              clientId: oidc.clientId,
              uiClientId: oidc.uiClientId,
            },
          }),
      bootstrap: isBootstrap(rules),
    },
    components: async () => [
      ...(provider === undefined ? [] : [componentOf(await provider.problem())]),
      ...(isUnintended(rules) ? [{ name: 'administrators', healthy: true, message: bootstrapWarning }] : []),
    ],
    isDevelopment: development !== undefined,
    passwords: development?.passwords,
    stop: async () => {
      warning.stop()
      await development?.stop()
    },
  }
}

const componentOf = (problem: string | undefined): Component => ({
  name: 'identity provider',
  healthy: problem === undefined,
  ...(problem === undefined ? {} : { message: problem }),
})

/** The development provider, unless others than this host can reach the platform: its passwords are not meant for them. */
/** Reason in the audit log. */
const wrongPassword = new GantryError('UNAUTHENTICATED', 'wrong user name or password')

async function standIn(
  { home, host, publicUrl, command, developmentPort, firstDevelopmentPort }: SignInConfig,
  { assignments, refused, log }: Pick<Surroundings, 'assignments' | 'refused' | 'log'>,
): Promise<DevelopmentProvider | undefined> {
  const isReachable = developmentPort === undefined && !isLoopbackHost(host)
  if (isReachable || !isLoopbackHost(new URL(publicUrl).hostname)) {
    log.warn(
      { host, publicUrl },
      'Nobody can sign in: set oidc.issuer in gantry.config, because the development sign-in page is not available while the platform can be reached from other hosts.',
    )
    return undefined
  }
  return startDevelopmentProvider({
    home,
    publicUrl,
    command,
    ...(firstDevelopmentPort !== undefined && { firstPort: firstDevelopmentPort }),
    ...(developmentPort !== undefined && { listenAt: { host, port: developmentPort } }),
    log,
    onWrong: (from) => refused(wrongPassword, from === undefined ? {} : { from }),
    onFirstStart: async () => {
      if ((await assignments.get(developmentViewers)) !== undefined) return
      await assignments.put(developmentViewers, { group: developmentViewers, roles: [viewer.name] })
    },
  })
}
