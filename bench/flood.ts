/**
 * What one key that floods the platform does to the calls of others. The platform and the flooder run in processes of
 * their own; the calls come from here, over NATS and REST. GANTRY_FLOOD_SECONDS (8) for each flood.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { call } from '../broker/rpc/client.ts'
import { connectWithToken, type NatsConnection } from '../broker/rpc/connection.ts'
import { keys } from '../subjects/access/keys.ts'
import { migrations } from '../subjects/migrations/migrations.ts'
import { platform as platformContracts } from '../subjects/platform/platform.ts'
import { type Child, startChild } from './child.ts'
import { print, quantile } from './figures.ts'
import { residentMb } from './process.ts'

const seconds = Number(process.env['GANTRY_FLOOD_SECONDS'] ?? 8)
const pauseMs = 20
const everything = { pub: { allow: ['gantry.>', '$SRV.>'] }, sub: { allow: ['gantry.>'] } }

const floods = [
  ['1 MB to a service', migrations.list.subject, 1_000_000, 4],
  ['200 bytes to a service', migrations.list.subject, 200, 4],
  ['200 bytes to discovery', '$SRV.PING', 200, 4],
] as const

interface Addresses {
  readonly httpUrls: { readonly platform: string }
  readonly tcpUrl: string
  readonly operatorToken: string
}

async function callsOf(connection: NatsConnection, { httpUrls, operatorToken }: Addresses, endMs: number) {
  const ms: number[] = []
  const wrong: string[] = []
  const ways: Record<string, () => Promise<unknown>> = {
    ping: () => call(connection, platformContracts.ping, {}),
    self: () => call(connection, keys.self, {}),
    migrations: () => call(connection, migrations.list, {}),
    rest: async () => {
      const headers = { authorization: `Bearer ${operatorToken}` }
      const response = await fetch(`${httpUrls.platform}/api/v1/apikey`, { headers })
      if (response.status !== 200) throw new Error(`status ${response.status}`)
      return response.text()
    },
  }
  const loop = async ([name, ask]: [string, () => Promise<unknown>]) => {
    while (Date.now() < endMs) {
      const started = performance.now()
      await ask().catch((error: unknown) => wrong.push(`${name}: ${String(error)}`))
      ms.push(performance.now() - started)
      await delay(pauseMs)
    }
  }
  await Promise.all(Object.entries(ways).map(loop))
  return { ms, wrong }
}

export async function benchFlood(): Promise<void> {
  await using platform: Child = await startChild('platform.mjs')
  const addresses = JSON.parse(platform.line) as Addresses
  const operator = await connectWithToken(addresses.tcpUrl, addresses.operatorToken)
  for (const [what, subject, bytes, connections] of floods) {
    const { token } = await call(operator, keys.create, { name: 'flooder', capabilities: everything })
    const before = await callsOf(operator, addresses, Date.now() + 2_000)
    await using _flooder = await startChild('../test/support/flooder.ts', [
      addresses.tcpUrl,
      token,
      subject,
      String(bytes),
      String(connections),
      'answers',
    ])
    const { ms, wrong } = await callsOf(operator, addresses, Date.now() + seconds * 1_000)
    print(`A key floods: ${what}, ${connections} connections`, [
      {
        name: 'calls of others that went wrong',
        value: `${wrong.length} of ${ms.length}`,
        aim: '0',
        details: [...new Set(wrong)].slice(0, 4).join('; '),
      },
      {
        name: 'their longest, p50',
        value: `${Math.max(...ms).toFixed(0)} ms, ${quantile(ms, 0.5).toFixed(1)} ms`,
        aim: '–',
        details: `without a flood ${Math.max(...before.ms).toFixed(0)} ms, ${quantile(before.ms, 0.5).toFixed(1)} ms; platform ${residentMb(platform.pid).highest.toFixed(0)} MB at most`,
      },
    ])
    await call(operator, platformContracts.ping, {}).catch(() => undefined)
  }
  await operator.close()
}

if (import.meta.main) await benchFlood()
