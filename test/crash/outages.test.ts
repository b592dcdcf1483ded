import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { expect, test } from 'vitest'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { ChangingFolder } from '../support/changing-folder.ts'
import { compareTrees } from '../support/compare-trees.ts'
import { addLocal, createFolder } from '../support/migrations.ts'
import { mountMemory, whyNoMount } from '../support/mounts.ts'
import { connectAsPlatform } from '../support/platform-account.ts'
import { createHome, natsServerPath } from '../support/platform.ts'
import { seededRandom } from '../support/random.ts'
import { makeTree } from '../support/tree.ts'
import { testUnless } from '../support/unless.ts'
import { until } from '../support/until.ts'
import { seed } from './settings.ts'
import { leftOf } from './live.ts'
import { migrateFolder } from './migrate-folder.ts'
import { Victim } from './victim.ts'

// What is in the way is said, nothing is lost, and it goes on by itself when the way is free.

const mebi = 2 ** 20
/** Between two changes at the source of a live migration. */
const writeEveryMs = 100
/** What all that was changed needs to arrive, after the longest wait between two tries. */
const patienceMs = 120_000

interface Scene extends AsyncDisposable {
  readonly victim: Victim
  readonly home: string
  readonly from: string
  readonly to: string
  /** Waits for a state of the migration, as long as it takes. */
  reaches(state: string): Promise<void>
  filesMigrated(): Promise<number>
}

interface SceneOptions {
  readonly files: number
  readonly to?: string
  readonly messaging?: object
  readonly environment?: NodeJS.ProcessEnv
}

/** A platform in a process of its own that migrates a tree; gone with the scope. */
async function startScene({ files, to, messaging, environment }: SceneOptions): Promise<Scene> {
  const folder = createFolder('from', 'to')
  makeTree(folder.from, { seed, files })
  const home = await createHome(messaging)
  const victim = new Victim(home, environment)
  await victim.start()
  const places = { from: folder.from, to: to ?? folder.to }
  await migrateFolder(victim, places)
  const progress = () => victim.call(migrations.progress, { migrationId: 'one' })
  return {
    victim,
    home,
    ...places,
    reaches: async (state) => {
      while ((await progress()).state !== state) await delay(100)
    },
    filesMigrated: async () => (await progress()).progress.filesMigrated,
    [Symbol.asyncDispose]: async () => {
      await victim[Symbol.asyncDispose]()
      rmSync(home, { recursive: true, force: true })
      folder[Symbol.dispose]()
    },
  }
}

/** Beside it a live migration of another folder, to which somebody writes until it is checked. */
async function startLive(victim: Victim, to?: string) {
  const migrationId = 'live'
  const folder = createFolder('changing', 'followed')
  const followed = to ?? folder.followed
  await addLocal(victim, 'changing', 'source', folder.changing)
  await addLocal(victim, 'followed', 'target', followed)
  await victim.call(migrations.create, {
    migrationId,
    path: '/',
    source: 'changing',
    target: 'followed',
    scanOnlyMigration: false,
    autoStart: true,
  })
  const changing = new ChangingFolder(folder.changing, seededRandom(seed), { keepsTypes: true })
  const end = new AbortController()
  const writing = (async () => {
    for (; !end.signal.aborted; await delay(writeEveryMs)) changing.step()
  })()
  const stopWriting = async () => {
    end.abort()
    await writing
  }
  return {
    migrationId,
    /** Stops writing, and waits until all of it has arrived, without anybody's help. */
    check: async () => {
      await stopWriting()
      const deadlineMs = Date.now() + patienceMs
      for (;;) {
        const left = leftOf(() => compareTrees(folder.changing, followed))
        if (left.length === 0) break
        if (Date.now() > deadlineMs) expect(left).toEqual([])
        await delay(500)
      }
      const { state } = await victim.call(migrations.get, { migrationId })
      const { failedPaths } = await victim.call(migrations.failures, { migrationId })
      expect([state, failedPaths]).toEqual(['LIVE', []])
    },
    [Symbol.asyncDispose]: async () => {
      await stopWriting()
      folder[Symbol.dispose]()
    },
  }
}

async function checkOutcome({ victim, from, to }: Scene): Promise<void> {
  const { failedPaths } = await victim.call(migrations.failures, { migrationId: 'one' })
  expect(failedPaths).toEqual([])
  expect(compareTrees(from, to)).toEqual([])
}

/** How the broker goes, and what lets it come back. */
const absences: Record<string, (victim: Victim, program: string) => () => Promise<void>> = {
  'is frozen': (victim) => {
    const pid = victim.brokerPid()!
    process.kill(pid, 'SIGSTOP')
    return async () => void process.kill(pid, 'SIGCONT')
  },
  // The platform starts it again and again.
  'is killed, and cannot be started': (victim, program) => {
    rmSync(program)
    process.kill(victim.brokerPid()!, 'SIGKILL')
    return async () => symlinkSync(await natsServerPath(), program)
  },
}

test.for(Object.entries(absences))('the broker %s for a minute', async ([, leave]) => {
  using folder = createFolder('bin')
  const program = join(folder.bin, 'nats-server')
  symlinkSync(await natsServerPath(), program)
  await using scene = await startScene({ files: 20_000, environment: { NATS_SERVER: program } })
  await using live = await startLive(scene.victim)
  await until('the first files', async () => (await scene.filesMigrated()) > 0)
  const begunMs = performance.now()
  const comeBack = leave(scene.victim, program)
  const said = /the broker \(nats-server\) does not respond/
  await until('health says it', async () => {
    const { status, message } = await scene.victim.get('/api/v1/health')
    return status === 503 && said.test(message)
  })
  expect(performance.now() - begunMs).toBeLessThan(5_000)
  // Whatever is asked, from the beginning to the end.
  while (performance.now() - begunMs < 60_000) {
    const askedMs = performance.now()
    const { status, message } = await scene.victim.get('/api/v1/migrations')
    expect([status, message]).toEqual([503, expect.stringMatching(said)])
    expect(performance.now() - askedMs).toBeLessThan(1_000)
    await delay(1_000)
  }
  await comeBack()
  await scene.reaches('COMPLETED')
  await checkOutcome(scene)
  await live.check()
})

testUnless(whyNoMount(), 'the disk of the target is full', async () => {
  using disk = mountMemory(16 * mebi)
  const [to, followed] = [join(disk.path, 'to'), join(disk.path, 'followed')]
  for (const path of [to, followed]) mkdirSync(path)
  await using scene = await startScene({ files: 20_000, to })
  await using live = await startLive(scene.victim, followed)
  await until('it is said', () => scene.victim.hasLogged(/no space left/i))
  const { state } = await scene.victim.call(migrations.get, { migrationId: 'one' })
  expect(state).toBe('RUNNING')
  await until('it is said of the other one too', async () => {
    const { conditions } = await scene.victim.call(migrations.get, { migrationId: live.migrationId })
    return conditions.some(({ reason, message }) => reason === 'TARGET_REFUSES' && /no space/i.test(message))
  })
  disk.grow(1024 * mebi)
  await scene.reaches('COMPLETED')
  await checkOutcome(scene)
  await live.check()
})

test('the storage of the platform is full (max_file)', async () => {
  const maxFileBytes = 64 * mebi
  await using scene = await startScene({ files: 20_000, messaging: { max_file: `${maxFileBytes}` } })
  await until('the first files', async () => (await scene.filesMigrated()) > 0)
  const connection = await connectAsPlatform({ home: scene.home, tcpUrl: scene.victim.tcpUrl })
  const manager = await jetstreamManager(connection)
  await manager.streams.add({ name: 'FILLER', subjects: ['filler'], storage: 'file' })
  const filler = new Uint8Array(mebi / 2)
  const isStored = () =>
    jetstream(connection)
      .publish('filler', filler)
      .then(
        () => true,
        () => false,
      )
  while (await isStored());
  await until('it is said', () => scene.victim.hasLogged(/max_file/))
  await manager.streams.delete('FILLER')
  await connection.close()
  await scene.reaches('COMPLETED')
  await checkOutcome(scene)
})

const fakeTime = '/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1'
const whyNoFakeTime = () =>
  existsSync(fakeTime) ? undefined : `there is no ${fakeTime}: install the package faketime`

testUnless(whyNoFakeTime(), 'the clock is stepped back by an hour, and forth by three', async () => {
  using folder = createFolder('clock')
  const clock = join(folder.clock, 'offset')
  const step = (offset: string) => writeFileSync(clock, offset)
  step('+0')
  using disk = mountMemory(16 * mebi)
  await using scene = await startScene({
    files: 20_000,
    to: disk.path,
    environment: {
      LD_PRELOAD: fakeTime,
      FAKETIME_TIMESTAMP_FILE: clock,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      NO_FAKE_STAT: '1',
    },
  })
  // Much waits for another try, until a moment of the clock.
  await until('the disk is full', () => scene.victim.hasLogged(/no space left/i))
  step('-3600')
  await until('it is said', () => scene.victim.hasLogged(/clock of the host was set back by 3600/))
  disk.grow(1024 * mebi)
  await until('more files', async () => (await scene.filesMigrated()) > 0)
  step('+7200')
  await until('it is said too', () => scene.victim.hasLogged(/clock of the host jumped 10800 s ahead/))
  await scene.reaches('COMPLETED')
  await checkOutcome(scene)
})
