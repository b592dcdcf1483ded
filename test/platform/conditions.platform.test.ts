import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { bandwidth } from '../../subjects/migrations/bandwidth.ts'
import type { Condition } from '../../subjects/migrations/model/conditions.ts'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { settings } from '../../subjects/access/settings.ts'
import { addLocal, createFolder, nextEvent } from '../support/migrations.ts'
import { startTestPlatform } from '../support/platform.ts'

test('why a migration does not move is in its view, in its progress, and an event when it changes', async () => {
  using folder = createFolder('from', 'to', 'there')
  writeFileSync(join(folder.from, 'file'), 'x'.repeat(600))
  await using platform = await startTestPlatform()
  await addLocal(platform, 'from', 'source', folder.from)
  await addLocal(platform, 'to', 'target', folder.to)
  await addLocal(platform, 'there', 'target', folder.there)
  const changed = async (migrationId: string) => {
    const { payload } = await nextEvent(platform, 'conditions-changed', migrationId)
    return payload.then((fact) => (fact as unknown as { conditions: Condition[] }).conditions)
  }
  const create = (migrationId: string, target: string, more: object = {}) =>
    platform.call(migrations.create, {
      migrationId,
      path: '/',
      source: 'from',
      target,
      autoStart: true,
      ...more,
    })
  const reasonsOf = async (migrationId: string) =>
    (await platform.call(migrations.get, { migrationId })).conditions.map(({ reason }) => reason)

  await platform.call(settings.put, { maxRunningMigrations: 1 })
  const waiting = nextEvent(platform, 'conditions-changed', 'left-to-agents')
  await create('left-to-agents', 'to', { movedBy: 'AGENTS' })
  const told = (await (await waiting).payload) as unknown as { conditions: Condition[] }
  expect(told.conditions).toMatchObject([{ reason: 'WAITS_FOR_AGENT' }])
  const { body } = await platform.rest('migrator', 'GET', '/migrations/left-to-agents')
  expect(body).toMatchObject({ conditions: told.conditions })
  const progress = await platform.call(migrations.progress, { migrationId: 'left-to-agents' })
  expect(progress.conditions).toEqual(told.conditions)

  await create('second', 'there')
  expect(await reasonsOf('second')).toEqual(['WAITS_FOR_TURN'])

  const completed = await nextEvent(platform, 'completed', 'second')
  const over = changed('left-to-agents')
  await platform.call(migrations.stop, { migrationId: 'left-to-agents' })
  expect(await over).toEqual([])
  expect(await reasonsOf('left-to-agents')).toEqual([])

  // Its turn has come.
  await completed.payload
  // Ten minutes for the file, by the time of day.
  await platform.call(migrations.delete, { migrationId: 'second' })
  const slow = { limitBytesPerSecond: 1 }
  const windows = [
    { from: '00:00', to: '12:00', ...slow },
    { from: '12:00', to: '00:00', ...slow },
  ]
  const limit = { scope: 'target', name: 'there', schedule: { timeZone: 'UTC', windows } } as const
  await platform.call(bandwidth.set, limit)
  const slowed = changed('third')
  await create('third', 'there')
  expect(await slowed).toEqual([
    {
      reason: 'BANDWIDTH_LIMITED',
      message: 'A limit applies: target/there, 1 B/s',
      since: expect.any(String),
    },
  ])
})
