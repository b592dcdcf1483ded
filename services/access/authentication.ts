import type { Identity } from '../../broker/identity.ts'
import type { Log } from '../../broker/log.ts'
import type { SecurityConfig } from '../../broker/security-config.ts'
import type { authentication } from '../../subjects/authentication.ts'
import type { authenticationInternal } from '../../subjects/authentication-internal.ts'
import type { Call, Contract, Handlers } from '../../subjects/contract.ts'
import { GantryError } from '../../subjects/errors.ts'
import { basicSource } from './basic.ts'
import { type BasicSessionOptions, BasicSessions } from './basic-sessions.ts'
import { ldapSource } from './ldap.ts'
import { type Credentials, PasswordCheck, type PasswordSource } from './password-check.ts'
import type { Person } from './people.ts'
import { WebTokens } from './web-tokens.ts'

export interface AuthenticationOptions extends BasicSessionOptions {
  readonly security: SecurityConfig
  readonly identity: Pick<Identity, 'derive' | 'instance'>
  readonly log: Log
}

export interface Authentication {
  readonly handlers: Handlers<typeof authentication>
  readonly internalHandlers: Handlers<typeof authenticationInternal>
  close(): void
}

/** Callers on the broker itself, who have a key already, are counted as one place. */
const broker = 'broker'

/** Passwords and the tokens that are made from them. */
export function createAuthentication(options: AuthenticationOptions): Authentication {
  const { security, identity, log, signIn } = options
  const source = sourceOf(security, log)
  const passwords = source === undefined ? undefined : new PasswordCheck(source)
  const webTokens = new WebTokens(identity)
  const basicSessions = new BasicSessions(options)
  const check = async (
    credentials: Credentials,
    { clientAddress }: Call<Contract>,
    mayTrust: boolean,
  ): Promise<Person> => {
    if (passwords === undefined) {
      throw new GantryError(
        'NOT_ALLOWED_IN_STATE',
        'the migrator has no access control: set security.type in its application.properties and restart',
      )
    }
    try {
      return await passwords.check(credentials, clientAddress ?? broker, mayTrust)
    } catch (error) {
      if (error instanceof GantryError && error.code !== 'UNAVAILABLE') {
        // The name may be a password that somebody typed into the wrong field.
        log.warn({ address: clientAddress, code: error.code }, 'Refused a sign-in with a password.')
      }
      throw error
    }
  }
  return {
    handlers: {
      // What comes of it holds for hours.
      authenticate: async (credentials, call) =>
        webTokens.issue(await signIn(await check(credentials, call, false))),
    },
    internalHandlers: {
      basic: async (credentials, call) => ({
        token: await basicSessions.tokenFor(await check(credentials, call, true)),
      }),
      bearer: async ({ jwt }) => ({ token: await webTokens.open(jwt) }),
    },
    close: () => passwords?.close(),
  }
}

function sourceOf(security: SecurityConfig, log: Log): PasswordSource | undefined {
  switch (security.type) {
    case 'off':
      return undefined
    case 'basic':
      return basicSource(security)
    case 'ldap':
      return ldapSource(security, log)
  }
}
