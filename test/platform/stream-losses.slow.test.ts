import { join } from 'node:path'
import { expect, test } from 'vitest'
import { factStream } from '../../broker/state/events.ts'
import { platform } from '../../subjects/platform/platform.ts'
import { createFolder, addLocal } from '../support/migrations.ts'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { Victim } from '../crash/victim.ts'
import { blocksOf, flipBit } from '../support/damage.ts'
import { createHome } from '../support/platform.ts'
import { until } from '../support/until.ts'

/** Runs of the comparison of streams, in the process of a platform. */
async function looks(victim: Victim): Promise<number> {
  const tasks = await victim.call(platform.tasks, {})
  return tasks.find(({ name }) => name === 'platform.streams')?.runs ?? 0
}

test('kill -9 alone loses nothing; what a damaged block loses is told in losses and health until it is accepted', async () => {
  const home = await createHome()
  const storeDir = join(home, 'jetstream')
  using folder = createFolder('from', 'to')
  await using victim = new Victim(home)
  await victim.start()
  await addLocal(victim, 'source', 'source', folder.from)
  await addLocal(victim, 'target', 'target', folder.to)
  const shape = { path: '/', source: 'source', target: 'target', scanOnlyMigration: true }
  await victim.call(migrations.create, { migrationId: 'one', ...shape, autoStart: true })
  const isOver = async () => (await victim.call(migrations.get, { migrationId: 'one' })).state === 'COMPLETED'
  await until('it is over', isOver)
  const before = await looks(victim)
  await until('the streams were looked at', async () => (await looks(victim)) > before)
  await victim.kill()
  await victim.start()
  expect(await victim.call(platform.losses, {})).toEqual([])
  expect((await victim.get('/api/v1/health')).status).toBe(200)
  await victim.kill()
  flipBit(blocksOf(storeDir, factStream).at(-1)!, 0.5)
  await victim.start()
  const losses = await victim.call(platform.losses, {})
  expect(losses).toMatchObject([{ store: factStream, kind: 'MESSAGES_LOST' }])
  expect(losses[0]?.messages).toBeGreaterThan(0)
  expect((await victim.get('/api/v1/health')).status).toBe(503)
  expect(victim.hasLogged(/Messages of the stream are missing/)).toBe(true)
  await victim.call(platform['accept-losses'], {})
  expect((await victim.get('/api/v1/health')).status).toBe(200)
  await victim.kill()
  await victim.start()
  expect(await victim.call(platform.losses, {})).toEqual([])
}, 120_000)
