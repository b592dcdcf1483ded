import { startAuthCallout } from '../../broker/auth-callout.ts'
import { Collection } from '../../broker/collection.ts'
import type { NatsConnection } from '../../broker/connection.ts'
import type { Identity } from '../../broker/identity.ts'
import { kickKey } from '../../broker/kick.ts'
import type { Log } from '../../broker/log.ts'
import type { TokenLocation } from '../../broker/token.ts'
import { Role } from '../../subjects/access.ts'
import { authoriser } from './authorise.ts'
import { admin } from './built-in-roles.ts'
import type { AccessDependencies } from './index.ts'
import { issueKey, openKeys } from './keys.ts'

export interface AccessOptions {
  readonly connections: {
    readonly platform: NatsConnection
    readonly auth: NatsConnection
    readonly system: NatsConnection
  }
  readonly identity: Identity
  readonly salt: string
  readonly location: TokenLocation
  readonly log: Log
}

export interface Access {
  readonly dependencies: AccessDependencies
  /** The token itself when the broker would take it, else that of a new local operator key. */
  operatorToken(current: string | undefined): Promise<string>
  stop(): Promise<void>
}

/** Opens keys and roles, and answers the broker's question who is connecting. */
export async function startAccess({
  connections,
  identity,
  salt,
  location,
  log,
}: AccessOptions): Promise<Access> {
  const [keys, roles] = await Promise.all([
    openKeys(connections.platform),
    Collection.open(connections.platform, { bucket: 'roles', schema: Role, version: 1 }),
  ])
  const authorise = authoriser(keys, { instance: identity.instance, salt, log })
  const callout = startAuthCallout(connections.auth, { identity, authorise, log })
  return {
    dependencies: { keys, roles, salt, location, kick: (keyId) => kickKey(connections.system, keyId) },
    operatorToken: async (current) => {
      if (current !== undefined) {
        const verdict = await authorise(current)
        if (!('refused' in verdict)) return current
        log.warn(
          { reason: verdict.refused },
          'The stored operator token is not valid any more; making another.',
        )
      }
      const { key, token } = await issueKey(
        keys,
        { salt, location },
        {
          name: 'local operator',
          notes: 'Made for whoever runs the platform on its own host',
          owner: 'operator',
          kind: 'key',
          roles: [admin.name],
          capabilities: { pub: admin.pub, sub: admin.sub },
        },
      )
      log.info({ key: key.id }, 'Made the local operator key.')
      return token
    },
    stop: () => callout.stop(),
  }
}
