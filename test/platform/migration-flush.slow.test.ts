import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { startAgent } from '../support/agent-child.ts'
import { addLocal, createFolder, nextEvent } from '../support/migrations.ts'
import { mountAgain, mountMemory, whyNoMount } from '../support/mounts.ts'
import { startTestPlatform, type TestPlatform } from '../support/platform.ts'
import { testUnless } from '../support/unless.ts'
import { until } from '../support/until.ts'

/** Before a migration is said to be done, what was written is flushed: a loss of power after that takes nothing. */

let platform: TestPlatform
/** The one of the platform. */
let sync: ReturnType<typeof holdSync>
const folder = createFolder('from', 'to', 'programs')
beforeAll(async () => {
  sync = holdSync('of-the-platform')
  platform = await startTestPlatform()
  await addLocal(platform, 'here', 'source', folder.from)
  await addLocal(platform, 'there', 'target', folder.to)
})
afterAll(async () => {
  await platform[Symbol.asyncDispose]()
  sync[Symbol.dispose]()
  folder[Symbol.dispose]()
})
beforeEach(() => sync.again())

/**
 * A `sync` before the system's own in the path of who is started meanwhile: notes what it is called with, waits until it may
 * go on, and runs that.
 */
function holdSync(name: string) {
  const at = join(folder.programs, name)
  mkdirSync(at)
  const program = join(at, 'sync')
  const { PATH: before = '' } = process.env
  const wait = `while [ ! -e '${at}/go' ]; do sleep 0.05; done`
  writeFileSync(program, `#!/bin/sh\necho "$@" >> '${at}/calls'\n${wait}\nPATH='${before}' exec sync "$@"\n`)
  chmodSync(program, 0o755)
  process.env['PATH'] = `${at}:${before}`
  const [calls, go] = [join(at, 'calls'), join(at, 'go')]
  return {
    called: () => existsSync(calls),
    /** How many file systems each call was for. */
    calls: () =>
      readFileSync(calls, 'utf8')
        .trimEnd()
        .split('\n')
        .map((line) => line.split(' ').length - 1),
    go: () => writeFileSync(go, ''),
    /** Holds the next as well, and forgets what was called. */
    again: () => {
      rmSync(calls, { force: true })
      rmSync(go, { force: true })
    },
    /** Whoever is started from now on has the system's own. */
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
  const { completed } = await start('once')
  await until('the target is being flushed', async () => sync.called())
  expect(await stateOf('once')).toBe('RUNNING')
  expect(readFileSync(join(folder.to, 'once', 'file'), 'utf8')).toBe('content')
  sync.go()
  await completed
  expect(await stateOf('once')).toBe('COMPLETED')
  expect(sync.calls()).toEqual([1])
})

testUnless(whyNoMount(), 'file systems that are mounted below the target are flushed as well', async () => {
  const below = join(folder.to, 'mounted', 'volume')
  mkdirSync(below, { recursive: true })
  using disk = mountMemory(2 ** 20)
  using _mounted = mountAgain(disk.path, below)
  sync.go()
  mkdirSync(join(folder.from, 'mounted', 'volume'), { recursive: true })
  writeFileSync(join(folder.from, 'mounted', 'volume', 'file'), 'content')
  const { completed } = await start('mounted')
  await completed
  expect(readFileSync(join(disk.path, 'file'), 'utf8')).toBe('content')
  expect(sync.calls()).toEqual([2])
})

test('the first scan of a live migration is over when its target is flushed', async () => {
  mkdirSync(join(folder.from, 'live'))
  writeFileSync(join(folder.from, 'live', 'file'), 'content')
  const ends = { source: 'here', target: 'there' }
  const live = { migrationId: 'live', path: '/live', ...ends, scanOnlyMigration: false, autoStart: true }
  await platform.call(migrations.create, live)
  await until('the target is being flushed', async () => sync.called())
  expect(await stateOf('live')).toBe('RUNNING')
  sync.go()
  await until('it follows changes', async () => (await stateOf('live')) === 'LIVE')
  await platform.call(migrations.stop, { migrationId: 'live' })
})

test('what an agent has written is flushed on its own host before the migration is done', async () => {
  sync.go()
  using held = holdSync('agent')
  await using _agent = await startAgent(platform, 'writer', ['--share', folder.root])
  const { completed } = await start('agents', { movedBy: 'AGENTS' })
  await until('the agent flushes', async () => held.called())
  expect(await stateOf('agents')).toBe('RUNNING')
  held.go()
  await completed
  expect(await stateOf('agents')).toBe('COMPLETED')
})

test('what is flushed is flushed although the shell that does it has died', async () => {
  sync.go()
  await (
    await start('before')
  ).completed
  const shells = childrenOf(process.pid).filter((pid) => commandOf(pid).startsWith('/bin/sh\0-c\0set -f'))
  expect(shells).toHaveLength(1)
  sync.again()
  const { completed } = await start('after')
  await until('the target is being flushed', async () => sync.called())
  process.kill(shells[0]!, 'SIGKILL')
  await until('another flushes it', async () => sync.calls().length === 2)
  expect(await stateOf('after')).toBe('RUNNING')
  sync.go()
  await completed
  expect(await stateOf('after')).toBe('COMPLETED')
})

const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number)
const commandOf = (pid: number): string => readFileSync(`/proc/${pid}/cmdline`, 'utf8')
