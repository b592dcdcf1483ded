import { connect, jwtAuthenticator } from '@nats-io/transport-node'
import { serveCatalogs } from '../../services/metadata/agents/serve-catalogs.ts'
import { inboxPrefix } from '../../subjects/kit/names.ts'
import { testLog } from './platform.ts'

/** An agent for catalogs as a process of its own, without what else `gantry agent` does: it ends with its parent. */
const { url, jwt, seed, keyId, shares } = JSON.parse(process.argv[2]!) as {
  readonly url: string
  readonly jwt: string
  readonly seed: string
  readonly keyId: string
  readonly shares: readonly string[]
}
const connection = await connect({
  servers: url,
  authenticator: jwtAuthenticator(jwt, new TextEncoder().encode(seed)),
  inboxPrefix: inboxPrefix(keyId),
})
process.on('disconnect', () => process.exit())
await serveCatalogs({ connection, keyId, shares, ownFolders: [], log: testLog }, new AbortController().signal)
