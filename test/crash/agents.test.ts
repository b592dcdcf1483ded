import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ackWaitMs } from '../../broker/queue/item.ts'
import { agents } from '../../subjects/migrations/agents.ts'
import { bandwidth } from '../../subjects/migrations/bandwidth.ts'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { startAgent, statusOf } from '../support/agent-child.ts'
import { compareTrees } from '../support/compare-trees.ts'
import { addLocal, createFolder, nextEvent, outcomeOf } from '../support/migrations.ts'
import { createHome, startTestPlatform, type TestPlatform } from '../support/platform.ts'
import { until } from '../support/until.ts'

const folders = 40
const filesPerFolder = 100
const migrationId = 'everything'
/** What an agent had in hand takes about a second to move; more on a machine that is busy. */
const movingMs = 5_000

/** A tree, a platform whose agents alone move it, and one that has begun, slowly. */
async function begin(platform: TestPlatform, folder: ReturnType<typeof createFolder<'from' | 'to'>>) {
  for (let index = 0; index < folders; index++) {
    mkdirSync(join(folder.from, `${index}`))
    for (let file = 0; file < filesPerFolder; file++)
      writeFileSync(join(folder.from, `${index}`, `${file}`), `${index} ${file}`)
  }
  writeFileSync(join(folder.from, 'large'), Buffer.alloc(64 * 1024 * 1024, 3))
  await addLocal(platform, 'here', 'source', folder.from)
  await addLocal(platform, 'there', 'target', folder.to)
  const child = await startAgent(platform, 'first', ['--share', folder.root])
  await platform.call(bandwidth.set, { scope: 'global', requests: 300 })
  await platform.call(migrations.create, {
    migrationId,
    path: '/',
    source: 'here',
    target: 'there',
    movedBy: 'AGENTS',
    autoStart: true,
  })
  await until('it has begun', async () => {
    return (await platform.call(agents.get, { name: 'first' })).transferredFiles > 0
  })
  return child
}

/** That all has arrived, and was counted once. @param tolerated differences that do not matter */
async function check(platform: TestPlatform, { from, to }: { from: string; to: string }, tolerated?: RegExp) {
  const { progress, failures } = await outcomeOf(platform, migrationId)
  expect(failures).toEqual([])
  expect(progress.filesMigrated).toBe(folders * filesPerFolder + 1)
  expect(compareTrees(from, to).filter((difference) => tolerated?.test(difference) !== true)).toEqual([])
}

test.each([
  // The broker hands out again what nobody has kept alive for that long.
  ['is killed', 'SIGKILL', ackWaitMs],
  // Its connection is there, and with it what it had asked for: that is handed to it, and then out again.
  ['is thought dead, and comes back', 'SIGSTOP', 2 * ackWaitMs],
] as const)('an agent %s: all arrives, once, within the time', async (_, signal, handedOutMs) => {
  using folder = createFolder('from', 'to')
  await using platform = await startTestPlatform()
  const completed = await nextEvent(platform, 'completed', migrationId)
  await using lost = await begin(platform, folder)
  lost.kill(signal)
  const begun = performance.now()
  await using _other = await startAgent(platform, 'other', ['--share', folder.root])
  await until('the platform sees that it is gone', async () => {
    return (await statusOf(platform, 'first')) === 'DISCONNECTED'
  })
  await platform.call(bandwidth.delete, { scope: 'global' })
  await completed.payload
  expect(performance.now() - begun).toBeLessThan(handedOutMs + movingMs)
  if (signal === 'SIGSTOP') {
    // It goes on with what the other has done meanwhile.
    lost.kill('SIGCONT')
    await until('it is back', async () => (await statusOf(platform, 'first')) === 'CONNECTED')
  }
  // The file that it was in the middle of it put there once more, and so moved the time of its folder.
  await check(platform, folder, signal === 'SIGSTOP' ? /^\/\d+: its time moved/ : undefined)
})

test('an agent goes on by itself when the platform was stopped and started again', async () => {
  using folder = createFolder('from', 'to')
  const home = await createHome()
  const first = await startTestPlatform({ home })
  await using child = await begin(first, folder)
  await first[Symbol.asyncDispose]()
  await using platform = await startTestPlatform({ home })
  const completed = await nextEvent(platform, 'completed', migrationId)
  await platform.call(bandwidth.delete, { scope: 'global' })
  await completed.payload
  await check(platform, folder)
  expect(await statusOf(platform, 'first')).toBe('CONNECTED')
  child.kill('SIGTERM')
  expect(await child.exitCode()).toBe(0)
  rmSync(home, { recursive: true })
})
