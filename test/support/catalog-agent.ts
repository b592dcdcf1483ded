import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { connect, jwtAuthenticator, type NatsConnection } from '@nats-io/transport-node'
import { version } from '../../broker/common/version.ts'
import { createKey } from '../../broker/identity/ed25519.ts'
import { userJwt } from '../../broker/identity/user-jwt.ts'
import { serve } from '../../broker/rpc/serve.ts'
import { agentCapabilities } from '../../services/access/keys/agent.ts'
import { createBounds } from '../../services/drivers/contract/bounds.ts'
import { CatalogAgents } from '../../services/metadata/agents/catalog-agents.ts'
import type { Catalog } from '../../services/metadata/catalogs/contract/catalog.ts'
import { openCatalog } from '../../services/metadata/catalogs/index.ts'
import { askingThrough } from '../../services/metadata/catalogs/remote/asking.ts'
import { inboxPrefix } from '../../subjects/kit/names.ts'
import { catalogWork } from '../../subjects/metadata/catalog-work.ts'
import type { CatalogSpec } from '../../subjects/metadata/kinds.ts'
import { startTestBroker } from './broker.ts'
import { testLog } from './platform.ts'

const child = fileURLToPath(new URL('./catalog-agent-child.ts', import.meta.url))

/** What asks agents for catalogs, on a real broker, without the rest of a platform. */
export async function startCatalogDesk() {
  const broker = await startTestBroker()
  const platform = await broker.connect('PLATFORM')
  /** As whom keys were registered. */
  const names = new Map<string, string>()
  const agents = new CatalogAgents({
    nameOf: (keyId) => Promise.resolve(names.get(keyId)!),
    bounds: createBounds([], { roots: undefined, hosts: undefined }),
    log: testLog,
  })
  const serving = { identity: broker.identity, version, log: testLog, concurrency: 1_000 }
  const service = serve(platform, { ...catalogWork }, agents.handlers, serving)
  agents.start()
  /** A key with what one of an agent may do. Without the callout, the server knows its user by the public key. */
  const register = (name: string) => {
    const key = createKey('U')
    const keyId = key.getPublicKey()
    names.set(keyId, name)
    const user = { publicKey: keyId, name: keyId, capabilities: agentCapabilities(keyId) }
    return { keyId, seed: key.seed, jwt: userJwt(broker.identity, 'AGENTS', user) }
  }
  const children: ChildProcess[] = []
  const connections: NatsConnection[] = []
  return {
    /** Starts a process that serves catalogs under a name. */
    startAgent: (name: string, shares: readonly string[]) => {
      children.push(fork(child, [JSON.stringify({ url: broker.server.tcpUrl, ...register(name), shares })]))
    },
    /** Connects with a key of an agent that nobody else uses. */
    connectAgent: async (name: string) => {
      const { keyId, seed, jwt } = register(name)
      const connection = await connect({
        servers: broker.server.tcpUrl,
        authenticator: jwtAuthenticator(jwt, new TextEncoder().encode(seed)),
        inboxPrefix: inboxPrefix(keyId),
      })
      connections.push(connection)
      return { connection, keyId }
    },
    open: (spec: CatalogSpec): Promise<Catalog> => openCatalog(spec, { askAgent: askingThrough(agents.ask) }),
    [Symbol.asyncDispose]: async () => {
      agents.stop()
      for (const one of children) {
        one.kill('SIGKILL')
        await once(one, 'exit')
      }
      await Promise.all(connections.map((connection) => connection.close()))
      await service.stop()
      await broker[Symbol.asyncDispose]()
    },
  }
}
