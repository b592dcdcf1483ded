import { connectWithToken, type NatsConnection } from '../../broker/rpc/connection.ts'
import { connectAs } from '../../broker/rpc/platform-connection.ts'
import type { Identity } from '../../broker/identity/identity.ts'
import { loadMessagingConfig } from '../../config/messaging.ts'
import { loadPlatformConfig } from '../../config/platform.ts'
import type { Capabilities } from '../../broker/identity/user-jwt.ts'
import { parseToken } from '../../broker/identity/token.ts'
import { issueKey, type NewKey, openKeys } from '../../services/access/keys/keys.ts'
import { keys } from '../../subjects/access/keys.ts'
import { testLog, type TestPlatform } from './platform.ts'

export const everything: Capabilities = {
  pub: { allow: ['gantry.>', '$SRV.>'] },
  sub: { allow: ['gantry.>'] },
}

/** Makes a key as the local operator. */
export const createKey = (
  platform: TestPlatform,
  capabilities: Capabilities,
  more: { name?: string; expiresInDays?: number } = {},
) => platform.call(keys.create, { name: 'a key', capabilities, ...more })

/** A key as only the platform itself makes one: of any owner, and with any end. Its token is in the result. */
export async function issueInside(platform: TestPlatform, more: Partial<NewKey>) {
  const { connection, salt } = await connectInside(platform)
  const { location } = parseToken(platform.operatorToken)!
  const asked = { name: 'a key', notes: '', owner: 'ada', kind: 'key' } as const
  const issued = await issueKey(
    await openKeys(connection),
    { salt, location },
    { ...asked, roles: [], capabilities: everything, visible_extensions: [], ...more },
  )
  await connection.close()
  return issued
}

/** A time that is over. */
export const overAlready = () => new Date(Date.now() - 1_000).toISOString()

export interface Client extends AsyncDisposable {
  readonly keyId: string
  readonly token: string
  readonly connection: NatsConnection
}

/** A new key with a connection. */
export async function createClient(platform: TestPlatform, capabilities: Capabilities): Promise<Client> {
  const { id, token } = await createKey(platform, capabilities)
  const connection = await connectWithToken(platform.tcpUrl, token, { reconnect: false })
  return { keyId: id, token, connection, [Symbol.asyncDispose]: () => connection.close() }
}

/** A connection beside those of the platform's services, with the identity that is in its folder. */
export async function connectInside(
  platform: TestPlatform,
): Promise<{ connection: NatsConnection; identity: Identity; salt: string }> {
  const messaging = loadMessagingConfig(platform.home)
  const { identity, salt } = await loadPlatformConfig(platform.home, messaging, testLog)
  const connection = await connectAs('PLATFORM', { url: platform.tcpUrl, identity, name: 'test' })
  return { connection, identity, salt }
}
