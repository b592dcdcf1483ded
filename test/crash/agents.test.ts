import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { agents } from '../../subjects/agents.ts'
import { bandwidth } from '../../subjects/bandwidth.ts'
import { migrations } from '../../subjects/migrations.ts'
import { startAgent, statusOf } from '../support/agent-child.ts'
import { compareTrees } from '../support/compare-trees.ts'
import { addLocal, createFolder, nextEvent, outcomeOf } from '../support/migrations.ts'
import { startTestPlatform } from '../support/platform.ts'
import { until } from '../support/until.ts'

const folders = 40
const filesPerFolder = 100

test.each([
  // The broker hands out again what nobody has kept alive for 30 seconds; some more for a machine that is busy.
  ['is killed', 'SIGKILL', 50_000],
  // Its connection is there, and with it what it had asked for, for 30 seconds more.
  ['is thought dead, and comes back', 'SIGSTOP', 80_000],
] as const)('an agent %s: all arrives, once, within the time', async (_, signal, longestMs) => {
  using folder = createFolder('from', 'to')
  for (let index = 0; index < folders; index++) {
    mkdirSync(join(folder.from, `${index}`))
    for (let file = 0; file < filesPerFolder; file++)
      writeFileSync(join(folder.from, `${index}`, `${file}`), `${index} ${file}`)
  }
  writeFileSync(join(folder.from, 'large'), Buffer.alloc(64 * 1024 * 1024, 3))
  await using platform = await startTestPlatform()
  await addLocal(platform, 'here', 'source', folder.from)
  await addLocal(platform, 'there', 'target', folder.to)
  const share = ['--share', folder.root]
  await using lost = await startAgent(platform, 'lost', share)
  const migrationId = 'everything'
  await platform.call(bandwidth.set, { scope: 'global', requests: 300 })
  const completed = await nextEvent(platform, 'completed', migrationId)
  await platform.call(migrations.create, {
    migrationId,
    path: '/',
    source: 'here',
    target: 'there',
    movedBy: 'AGENTS',
    autoStart: true,
  })
  await until('it has begun', async () => {
    return (await platform.call(agents.get, { name: 'lost' })).transferredFiles > 0
  })
  lost.kill(signal)
  const begun = performance.now()
  await using _other = await startAgent(platform, 'other', share)
  await until('the platform sees that it is gone', async () => {
    return (await statusOf(platform, 'lost')) === 'DISCONNECTED'
  })
  await platform.call(bandwidth.delete, { scope: 'global' })
  await completed.payload
  expect(performance.now() - begun).toBeLessThan(longestMs)
  if (signal === 'SIGSTOP') {
    // It goes on with what the other has done meanwhile.
    lost.kill('SIGCONT')
    await until('it is back', async () => (await statusOf(platform, 'lost')) === 'CONNECTED')
  }
  const { progress, failures } = await outcomeOf(platform, migrationId)
  expect(failures).toEqual([])
  expect(progress.filesMigrated).toBe(folders * filesPerFolder + 1)
  expect(compareTrees(folder.from, folder.to)).toEqual([])
})
