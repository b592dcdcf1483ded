import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { migrations } from '../../subjects/migrations.ts'
import { startAgent } from '../support/agent-child.ts'
import { addLocal, createFolder, nextEvent } from '../support/migrations.ts'
import { mountAgain, mountMemory, whyNoMount } from '../support/mounts.ts'
import { startTestPlatform, type TestPlatform } from '../support/platform.ts'
import { testUnless } from '../support/unless.ts'
import { until } from '../support/until.ts'

/** Before a migration is said to be done, what was written is flushed: a loss of power after that takes nothing. */

let platform: TestPlatform
const folder = createFolder('from', 'to', 'programs')
beforeAll(async () => {
  platform = await startTestPlatform()
  await addLocal(platform, 'here', 'source', folder.from)
  await addLocal(platform, 'there', 'target', folder.to)
})
afterAll(async () => {
  await platform[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
})

/** A `sync` before the system's own in the path: notes what it is called with, waits until it may go on, and runs that. */
function holdSync(name: string) {
  const at = join(folder.programs, name)
  mkdirSync(at)
  const program = join(at, 'sync')
  const wait = `while [ ! -e '${at}/go' ]; do sleep 0.05; done`
  writeFileSync(program, `#!/bin/sh\necho "$@" >> '${at}/calls'\n${wait}\nPATH="$ITS_PATH" exec sync "$@"\n`)
  chmodSync(program, 0o755)
  const { PATH: before = '' } = process.env
  Object.assign(process.env, { ITS_PATH: before, PATH: `${at}:${before}` })
  return {
    called: () => existsSync(join(at, 'calls')),
    calls: () => readFileSync(join(at, 'calls'), 'utf8'),
    go: () => writeFileSync(join(at, 'go'), ''),
    /** Whoever is started from now on has the system's own. */
    release: () => {
      process.env['PATH'] = before
    },
    [Symbol.dispose]: () => {
      process.env['PATH'] = before
    },
  }
}

const stateOf = async (migrationId: string) => (await platform.call(migrations.get, { migrationId })).state

async function start(migrationId: string, options: object = {}) {
  mkdirSync(join(folder.from, migrationId), { recursive: true })
  writeFileSync(join(folder.from, migrationId, 'file'), 'content')
  const completed = await nextEvent(platform, 'completed', migrationId)
  const path = `/${migrationId}`
  const ends = { source: 'here', target: 'there' }
  await platform.call(migrations.create, { migrationId, path, ...ends, autoStart: true, ...options })
  return { completed: completed.payload }
}

test('a migration is done when its target is flushed, and not before', async () => {
  using held = holdSync('server')
  const { completed } = await start('once')
  await until('the target is being flushed', async () => held.called())
  expect(await stateOf('once')).toBe('RUNNING')
  expect(readFileSync(join(folder.to, 'once', 'file'), 'utf8')).toBe('content')
  held.go()
  await completed
  expect(await stateOf('once')).toBe('COMPLETED')
  expect(held.calls()).toBe('-f /dev/fd/3\n')
})

testUnless(whyNoMount(), 'file systems that are mounted below the target are flushed as well', async () => {
  const below = join(folder.to, 'mounted', 'volume')
  mkdirSync(below, { recursive: true })
  using disk = mountMemory(2 ** 20)
  using _mounted = mountAgain(disk.path, below)
  using held = holdSync('mounted')
  held.go()
  mkdirSync(join(folder.from, 'mounted', 'volume'), { recursive: true })
  writeFileSync(join(folder.from, 'mounted', 'volume', 'file'), 'content')
  const { completed } = await start('mounted')
  await completed
  expect(readFileSync(join(disk.path, 'file'), 'utf8')).toBe('content')
  expect(held.calls()).toBe('-f /dev/fd/3 /dev/fd/4\n')
})

test('the first scan of a live migration is over when its target is flushed', async () => {
  using held = holdSync('live')
  mkdirSync(join(folder.from, 'live'))
  writeFileSync(join(folder.from, 'live', 'file'), 'content')
  const ends = { source: 'here', target: 'there' }
  const live = { migrationId: 'live', path: '/live', ...ends, scanOnlyMigration: false, autoStart: true }
  await platform.call(migrations.create, live)
  await until('the target is being flushed', async () => held.called())
  expect(await stateOf('live')).toBe('RUNNING')
  held.go()
  await until('it follows changes', async () => (await stateOf('live')) === 'LIVE')
  await platform.call(migrations.stop, { migrationId: 'live' })
})

test('what an agent has written is flushed on its own host before the migration is done', async () => {
  using held = holdSync('agent')
  await using _agent = await startAgent(platform, 'writer', ['--share', folder.root])
  held.release()
  const { completed } = await start('agents', { movedBy: 'AGENTS' })
  await until('the agent flushes', async () => held.called())
  expect(await stateOf('agents')).toBe('RUNNING')
  held.go()
  await completed
  expect(await stateOf('agents')).toBe('COMPLETED')
})
