import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { migrations } from '../../../subjects/migrations/migrations.ts'
import { startTestPlatform, type TestPlatform } from '../../support/platform.ts'
import { until } from '../../support/until.ts'
import { begin, gantry } from '../support.ts'
import { create, createSource } from './sources.ts'

/** Of all but what restarts one. */
let platform: TestPlatform
beforeAll(async () => {
  platform = await startTestPlatform()
})
afterAll(() => platform[Symbol.asyncDispose]())

const watch = (...args: string[]) => gantry(['watch', ...args], { env: { GANTRY_HOME: platform.home } })

test('a migration that is completed without failures is exit code 0', async () => {
  using _ = await createSource(platform, 'all of it', ['a', 'b', 'c'])
  await create(platform, 'all of it', true)
  const { code, out, err } = await watch('all of it')
  expect({ code, err }).toEqual({ code: 0, err: '' })
  expect(out).toMatch(/all of it {2}COMPLETED {2}100 % {2}3 of 3 files {2}3\.0 KiB of 3\.0 KiB\n/)
  expect(out).toMatch(/all of it is completed: 3 files \(3\.0 KiB\) copied, in \d+ s\n$/)
})

test('failures are exit code 1, and it says how to list them', async () => {
  using folder = await createSource(platform, 'nightly', ['a'])
  execFileSync('mkfifo', [join(folder.from, 'pipe')])
  await create(platform, 'nightly', true)
  const { code, out } = await watch('nightly')
  expect(code).toBe(1)
  expect(out).toMatch(
    /nightly is completed with 1 failure: .*list them with: gantry migrations failures nightly\n$/,
  )
  const { out: failures } = await gantry(['migrations', 'failures', 'nightly'], {
    env: { GANTRY_HOME: platform.home },
  })
  expect(failures).toMatch(/\/pipe/)
})

test('one that was not started, or is stopped, is exit code 1, and it says how to go on', async () => {
  using _ = await createSource(platform, 'later', ['a'])
  await create(platform, 'later', false)
  const { code, out } = await watch('later')
  expect(code).toBe(1)
  expect(out).toMatch(/later was not started; start it with: gantry migrations start later\n$/)
})

test('with --json each line is the reply of migrations progress', async () => {
  using _ = await createSource(platform, 'm', ['a'])
  await create(platform, 'm', true)
  const { code, out } = await watch('m', '--json')
  expect(code).toBe(0)
  const lines = out.trimEnd().split('\n')
  expect(JSON.parse(lines.at(-1)!)).toEqual(await platform.call(migrations.progress, { migrationId: 'm' }))
})

test('without a name it watches those that are running; there may be none', async () => {
  const { code, out, err } = await watch()
  expect({ code, out, err }).toEqual({ code: 0, out: '', err: 'No migration is running.\n' })
})

test('without a name those that begin later are shown too, each until it ends', async () => {
  using _live = await createSource(platform, 'live', ['a'])
  using _soon = await createSource(platform, 'soon', ['a', 'b'])
  using folder = await createSource(platform, 'weekly', ['a'])
  execFileSync('mkfifo', [join(folder.from, 'pipe')])
  await create(platform, 'soon', false)
  await create(platform, 'live', true, { scanOnlyMigration: false })
  const watching = begin(['watch'], { env: { GANTRY_HOME: platform.home } })
  const said = (text: string) => until(`it says ${text}`, () => watching.written.out.includes(text))
  await said('live  LIVE')
  await platform.call(migrations.start, { migrationId: 'soon' })
  await said('soon is completed: 2 files')
  // One between its scans has not ended.
  await create(platform, 'weekly', true, { recurringMigration: true, recurringPeriod: 7 * 24 * 60 * 60 })
  await said('weekly  WAITING_FOR_NEXT_RECURRENCE')
  await platform.call(migrations.stop, { migrationId: 'live' })
  await said('live is stopped')
  await platform.call(migrations.stop, { migrationId: 'weekly' })
  const { code, out, err } = await watching.ended
  expect({ code, err }).toEqual({ code: 1, err: '' })
  expect(out).toMatch(/soon {2}COMPLETED {2}100 % {2}2 of 2 files/)
  // Nor has one that follows its source a share when it is stopped.
  // Within a second after the end of following nothing is said of how long that was ago.
  expect(out).toMatch(/^live {2}STOPPED {2}(?:changes not followed for [1-9]\d* s {2})?stopped$/m)
  expect(out).toMatch(/^live is stopped(?:, changes not followed for [1-9]\d* s)?; continue with: /m)
  // Each end is told once, and of what has ended no more.
  expect(out.match(/ is (?:completed|stopped)/g)).toHaveLength(3)
  expect(out.split('soon is completed')[1]).not.toContain('soon')
})

test('one that does not exist is an error', async () => {
  const { code, err } = await watch('nobody')
  expect(code).toBe(1)
  expect(err).toMatch(
    /^error: there is no migration nobody; see "gantry migrations list", or add --metadata for a metadata migration \(NOT_FOUND, request \w+\)\n$/,
  )
})
