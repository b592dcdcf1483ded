import type { Identity } from '../../broker/identity/identity.ts'
import type { Log } from '../../broker/common/log.ts'
import type { BasicConfig, SecurityConfig } from '../../config/security.ts'
import type { authentication } from '../../subjects/access/authentication.ts'
import type { authenticationInternal } from '../../subjects/access/authentication-internal.ts'
import type { Call, Contract, Handlers } from '../../subjects/kit/contract.ts'
import { GantryError } from '../../subjects/kit/errors.ts'
import { type Gate, requestOf } from './audit.ts'
import { basicSource } from './passwords/basic.ts'
import { type BasicSessionOptions, BasicSessions } from './passwords/basic-sessions.ts'
import { ldapSource } from './passwords/ldap.ts'
import { type Credentials, PasswordCheck, type PasswordSource } from './passwords/password-check.ts'
import type { Person } from './roles/people.ts'
import { WebTokens } from './web-tokens.ts'

export interface AuthenticationOptions extends BasicSessionOptions, Gate {
  /** Access control of the migrator. */
  readonly security: SecurityConfig
  /** The user of the metadata service at the moment. */
  readonly metadataUser: () => BasicConfig | undefined
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
  const { security, metadataUser, identity, log, signIn, refused } = options
  const source = sourceOf(security, log)
  const migrator = source === undefined ? undefined : new PasswordCheck(source)
  const metadata = new PasswordCheck(basicSource('metadata', metadataUser))
  const webTokens = new WebTokens(identity)
  const basicSessions = new BasicSessions(options)
  const check = async (
    passwords: PasswordCheck | undefined,
    credentials: Credentials,
    call: Call<Contract>,
    mayTrust: boolean,
  ): Promise<Person> => {
    if (passwords === undefined) {
      throw new GantryError(
        'NOT_ALLOWED_IN_STATE',
        'the migrator has no access control: set security.type in its application.properties and restart',
      )
    }
    try {
      return await passwords.check(credentials, call.clientAddress ?? broker, mayTrust)
    } catch (error) {
      if (error instanceof GantryError && error.code !== 'UNAVAILABLE') {
        // The name may be a password that somebody typed into the wrong field.
        log.warn({ address: call.clientAddress, code: error.code }, 'Refused a sign-in with a password.')
        refused(error, requestOf(call))
      }
      throw error
    }
  }
  return {
    handlers: {
      // What comes of it holds for hours.
      authenticate: async (credentials, call) =>
        webTokens.issue(await signIn(await check(migrator, credentials, call, false), requestOf(call))),
    },
    internalHandlers: {
      basic: async ({ server, ...credentials }, call) => {
        const passwords = server === 'metadata' ? metadata : migrator
        return { token: await basicSessions.tokenFor(await check(passwords, credentials, call, true)) }
      },
      bearer: async ({ jwt }) => ({ token: await webTokens.open(jwt) }),
    },
    close: () => {
      migrator?.close()
      metadata.close()
    },
  }
}

function sourceOf(security: SecurityConfig, log: Log): PasswordSource | undefined {
  switch (security.type) {
    case 'off':
      return undefined
    case 'basic':
      return basicSource('basic', () => security)
    case 'ldap':
      return ldapSource(security, log)
  }
}
