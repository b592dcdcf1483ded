import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type * as Drivers from '../../services/drivers/index.ts'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { addLocal, createFolder } from '../support/migrations.ts'
import { startTestPlatform, type TestPlatform } from '../support/platform.ts'
import { until } from '../support/until.ts'

/** A mount whose server is gone answers nothing, and no signal ends a call to it. */
const mount = vi.hoisted(() => ({ hangs: false, flushes: 0 }))
vi.mock('../../services/drivers/index.ts', async (original) => {
  const drivers = await original<typeof Drivers>()
  return {
    ...drivers,
    openDriver: async (...args: Parameters<typeof drivers.openDriver>) => {
      const driver = await drivers.openDriver(...args)
      const flush = driver.flush?.bind(driver)
      if (flush === undefined) return driver
      driver.flush = async (...asked) => {
        mount.flushes += 1
        if (mount.hangs) await new Promise(() => undefined)
        await flush(...asked)
      }
      return driver
    },
  }
})

let platform: TestPlatform
const folder = createFolder('from', 'to')
beforeAll(async () => {
  platform = await startTestPlatform()
  await addLocal(platform, 'here', 'source', folder.from)
  await addLocal(platform, 'there', 'target', folder.to)
})
afterAll(async () => {
  await platform[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
})

const migrationId = 'live'
const seen = async () => {
  const { state, conditions } = await platform.call(migrations.get, { migrationId })
  return { state, reasons: conditions.map(({ reason }) => reason) }
}

test('a migration stops though its target hangs, and says that it was not flushed until it is', async () => {
  mkdirSync(join(folder.from, 'live'))
  writeFileSync(join(folder.from, 'live', 'file'), 'content')
  const ends = { source: 'here', target: 'there', path: '/live' }
  await platform.call(migrations.create, { migrationId, ...ends, scanOnlyMigration: false, autoStart: true })
  await until('it follows changes', async () => (await seen()).state === 'LIVE')
  mount.hangs = true
  await platform.call(migrations.stop, { migrationId })
  await until('it has stopped', async () => (await seen()).state === 'STOPPED')
  expect((await seen()).reasons).toEqual(['TARGET_NOT_FLUSHED'])

  mount.hangs = false
  await platform.call(migrations.resume, { migrationId })
  await until('it follows changes', async () => (await seen()).state === 'LIVE')
  expect((await seen()).reasons).not.toContain('TARGET_NOT_FLUSHED')
  await platform.call(migrations.stop, { migrationId })
  await until('it has stopped', async () => (await seen()).state === 'STOPPED')
  expect((await seen()).reasons).toEqual([])
}, 90_000)

test('a stop ends the flush at the end of a scan', async () => {
  mount.hangs = true
  const { flushes } = mount
  mkdirSync(join(folder.from, 'once'))
  const ends = { source: 'here', target: 'there', path: '/once' }
  await platform.call(migrations.create, { migrationId: 'once', ...ends, autoStart: true })
  await until('the target is being flushed', async () => mount.flushes > flushes)
  await platform.call(migrations.stop, { migrationId: 'once' })
  await until('it has stopped', async () => {
    const { state } = await platform.call(migrations.get, { migrationId: 'once' })
    return state === 'STOPPED'
  })
  mount.hangs = false
}, 90_000)
