/**
 * Four transfer agents against one, from a folder to a store that is 50 ms away: Azurite behind a proxy that holds every
 * byte back for half of that in each direction. The agents have one thread and few connections each, so that what is
 * measured is waiting for the store, and not this machine's cores. Run by itself: `node bench/agents.ts`.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AddressInfo } from 'node:net'
import { filesystems } from '../subjects/filesystems/filesystems.ts'
import { migrations } from '../subjects/migrations/migrations.ts'
import { loopback } from '../subjects/kit/names.ts'
import { settings } from '../subjects/access/settings.ts'
import { startAgent } from '../test/support/agent-child.ts'
import { startAzurite } from '../test/support/azurite.ts'
import { addLocal, nextEvent } from '../test/support/migrations.ts'
import { startTestPlatform, type TestPlatform } from '../test/support/platform.ts'
import { type Figure, print } from './figures.ts'

const roundTripMs = 50
/** Requests that a thread has under way. */
const requestsAtOnce = 4
const folders = 64
const filesPerFolder = 64
/** Small, so that the cores of this machine are not what is measured; 64 of them are a piece of work. */
const fileBytes = 4 * 1024

/** A TCP proxy that holds all bytes back. */
async function startDelay(target: string): Promise<{ endpoint: string; close(): void }> {
  const [host, port] = target.split(':')
  const sockets = new Set<Socket>()
  const server = createServer({ noDelay: true }, (near) => {
    const far = connect({ host: host!, port: Number(port), noDelay: true })
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from)
      from.on('data', (bytes) => setTimeout(() => to.write(bytes), roundTripMs / 2))
      from.on('end', () => setTimeout(() => to.end(), roundTripMs / 2))
      from.on('error', () => to.destroy())
      from.on('close', () => sockets.delete(from))
    }
  })
  await new Promise<void>((resolve) => server.listen(0, loopback, resolve))
  return {
    endpoint: `${loopback}:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** Files a second, from the start of a migration to its completion. */
async function rateOf(
  platform: TestPlatform,
  migrationId: string,
  source: string,
  target: string,
): Promise<number> {
  const completed = await nextEvent(platform, 'completed', migrationId)
  const begun = performance.now()
  await platform.call(migrations.create, {
    migrationId,
    path: '/',
    source,
    target,
    movedBy: 'AGENTS',
    autoStart: true,
  })
  const { failedPathCount = 0 } = await completed.payload
  if (failedPathCount > 0) throw new Error(`${failedPathCount} paths failed`)
  return (folders * filesPerFolder) / ((performance.now() - begun) / 1_000)
}

export async function benchAgents(): Promise<void> {
  const root = mkdtempSync(join(tmpdir(), 'gantry-bench-'))
  for (let folder = 0; folder < folders; folder++) {
    mkdirSync(join(root, `${folder}`))
    for (let file = 0; file < filesPerFolder; file++)
      writeFileSync(join(root, `${folder}`, `${file}`), Buffer.alloc(fileBytes, file))
  }
  const azurite = await startAzurite()
  const delayed = await startDelay(azurite.endpoint)
  const figures: Figure[] = []
  try {
    await using platform = await startTestPlatform()
    await addLocal(platform, 'here', 'source', root)
    const rates: number[] = []
    await using running = new AsyncDisposableStack()
    for (const count of [1, 4]) {
      for (let index = rates.length === 0 ? 0 : 1; index < count; index++) {
        running.use(await startAgent(platform, `agent-${index}`, ['--share', root, '--threads', '1']))
      }
      const target = `away-${count}`
      await azurite.createContainer(target)
      await platform.call(settings.put, { storeHosts: [loopback] })
      await platform.call(filesystems['create-adls2-shared-key'], {
        fileSystemId: target,
        role: 'target',
        accountName: azurite.account,
        sharedKey: azurite.key,
        endpoint: delayed.endpoint,
        insecure: true,
        containerName: target,
        additionalProperties: { 'fs.azure.concurrentRequestCount.out': `${requestsAtOnce}` },
      })
      rates.push(await rateOf(platform, `with-${count}`, 'here', target))
    }
    const [one = 0, four = 0] = rates
    figures.push({
      name: 'four agents against one, store 50 ms away',
      value: `${(four / one).toFixed(2)} ×`,
      aim: '≥ 3.6 ×',
      details: `${four.toFixed(0)} and ${one.toFixed(0)} files of 4 KiB a second, ${requestsAtOnce} requests at once each; delaying proxy before Azurite`,
    })
  } finally {
    delayed.close()
    await azurite.stop()
    rmSync(root, { recursive: true, force: true })
  }
  print('Transfer agents', figures)
}

if (import.meta.main) await benchAgents()
