import { chmodSync, chownSync, copyFileSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { Victim } from '../crash/victim.ts'
import { compareTrees } from '../support/compare-trees.ts'
import { addLocal, createFolder } from '../support/migrations.ts'
import { mountAgain, mountLoop, mountMemory, whyNoLoop, whyNoMount } from '../support/mounts.ts'
import { asOrdinaryUser, ordinaryUser, whyNotRunnable } from '../support/ordinary-user.ts'
import { createHome, natsServerPath, startTestPlatform, type TestPlatform } from '../support/platform.ts'
import { testUnless } from '../support/unless.ts'
import { namesBelow } from '../support/names-below.ts'
import { unlessGone, until } from '../support/until.ts'

/** Restarts, and comparisons that wait for their turn. */
const patienceMs = 300_000

const kinds = {
  'one-time': { targetMatch: true, maxDeletionPercent: 100 },
  recurring: {
    recurringMigration: true,
    recurringPeriod: '1H',
    targetMatch: true,
    maxDeletionPercent: 100,
  },
  live: { scanOnlyMigration: false },
} as const
type Kind = keyof typeof kinds

/** File systems that hold the content of a source, mounted somewhere out of the way. */
const volumes = {
  memory: () => mountMemory(4 * 1024 * 1024),
  disk: () => mountLoop(16 * 1024 * 1024),
} as const

const files = 30

/** A platform that can be started again. */
interface Startable extends AsyncDisposable {
  readonly call: TestPlatform['call']
  restart(meanwhile?: () => void): Promise<void>
}

/** In this process, stopped in order. */
async function createOwn(): Promise<Startable> {
  const home = await createHome()
  let platform = await startTestPlatform({ home })
  return {
    call: (contract, input) => platform.call(contract, input),
    restart: async (meanwhile) => {
      await platform[Symbol.asyncDispose]()
      meanwhile?.()
      platform = await startTestPlatform({ home })
    },
    [Symbol.asyncDispose]: async () => {
      await platform[Symbol.asyncDispose]()
      rmSync(home, { recursive: true, force: true })
    },
  }
}

/** That of somebody else than root, in a process that is killed. */
async function createOrdinary(): Promise<Startable> {
  const home = await createHome()
  const natsServer = join(home, 'nats-server')
  copyFileSync(await natsServerPath(), natsServer)
  for (const name of readdirSync(home, { recursive: true, encoding: 'utf8' })) give(join(home, name))
  give(home)
  const platform = new Victim(home, { HOME: home, NATS_SERVER: natsServer }, asOrdinaryUser)
  await platform.start()
  return {
    call: (contract, input) => platform.call(contract, input),
    restart: async (meanwhile) => {
      await platform.kill()
      meanwhile?.()
      await platform.start()
    },
    [Symbol.asyncDispose]: async () => {
      await platform[Symbol.asyncDispose]()
      rmSync(home, { recursive: true, force: true })
    },
  }
}

const users = { root: createOwn, 'an ordinary user': createOrdinary } as const
type User = keyof typeof users
const notRunnable = whyNotRunnable(fileURLToPath(new URL('../../cli/gantry.ts', import.meta.url)))

/** Makes it the ordinary user's, as whom it is read and written. */
const give = (path: string) => chownSync(path, ordinaryUser, ordinaryUser)

function write(path: string, content: string): void {
  writeFileSync(path, content)
  give(path)
}

/** A migration of a folder. */
async function createMigration(kind: Kind, user: User) {
  const folder = createFolder('from', 'to')
  const [source, target] = [join(folder.from, 'root'), join(folder.to, 'root')]
  for (const path of [source, target]) mkdirSync(path)
  chmodSync(folder.root, 0o755)
  for (const path of [folder.from, folder.to, source, target]) give(path)
  const platform = await users[user]()
  const migrationId = 'moved'
  const call = (verb: 'get' | 'start' | 'stop' | 'reset' | 'accept-source') =>
    platform.call(migrations[verb], { migrationId })
  const get = () => call('get')
  const held = () =>
    until('it says what has changed', async () =>
      (await get()).conditions.find(({ reason }) => reason === 'SOURCE_CHANGED'),
    )
  return {
    source,
    target,
    call,
    get,
    held,
    begin: async () => {
      await addLocal(platform, 'from', 'source', source)
      await addLocal(platform, 'to', 'target', target)
      await platform.call(migrations.create, {
        migrationId,
        path: '/',
        source: 'from',
        target: 'to',
        autoStart: true,
        ...kinds[kind],
      })
    },
    /** Has it look at its source again, where it does not do so by itself. */
    again: () => (kind === 'live' ? undefined : call(kind === 'recurring' ? 'start' : 'reset')),
    untilEqual: () =>
      until('both are equal', async () => {
        const { state, failedPathCount, conditions, changeLagSeconds = 0 } = await get()
        const isDone = ['COMPLETED', 'WAITING_FOR_NEXT_RECURRENCE', 'LIVE'].includes(state)
        const isQuiet = failedPathCount === 0 && conditions.length === 0 && changeLagSeconds === 0
        return isDone && isQuiet && unlessGone(() => compareTrees(source, target))?.length === 0
      }),
    restart: (meanwhile?: () => void) => platform.restart(meanwhile),
    [Symbol.asyncDispose]: async () => {
      await platform[Symbol.asyncDispose]()
      folder[Symbol.dispose]()
    },
  }
}

function fill(folder: string): void {
  for (let index = 0; index < files; index++) {
    mkdirSync(join(folder, `folder${index % 3}/below`), { recursive: true })
    writeFileSync(join(folder, `folder${index % 3}/below/${index}`), `content of ${index}`)
  }
  give(folder)
  for (const name of namesBelow(folder)) give(join(folder, name))
}

/** A place where a volume is mounted, and unmounted so that what was below it is there again. */
function mountPlace(folder: string, at: string): { mount(): void; unmount(): void } & Disposable {
  let mounted: Disposable | undefined
  const unmount = () => {
    mounted?.[Symbol.dispose]()
    mounted = undefined
  }
  return { mount: () => (mounted ??= mountAgain(folder, at)), unmount, [Symbol.dispose]: unmount }
}

const places = { 'at the root': '', 'below the root': 'volume' } as const
interface Case {
  readonly kind: Kind
  readonly user: User
  readonly where: keyof typeof places
  readonly volume: keyof typeof volumes
  readonly stray: string
}
const cases: Case[] = [
  ...(Object.keys(kinds) as Kind[]).flatMap((kind) =>
    (['at the root', 'below the root'] as const).map(
      (where) => ({ kind, user: 'root', where, volume: 'memory', stray: 'with a stray file' }) as const,
    ),
  ),
  { kind: 'live', user: 'root', where: 'at the root', volume: 'disk', stray: 'empty' },
  { kind: 'live', user: 'root', where: 'below the root', volume: 'disk', stray: 'empty' },
  { kind: 'live', user: 'an ordinary user', where: 'at the root', volume: 'memory', stray: 'empty' },
  { kind: 'live', user: 'an ordinary user', where: 'below the root', volume: 'memory', stray: 'empty' },
]

for (const { kind, user, where, volume, stray } of cases)
  testUnless(
    (volume === 'disk' ? whyNoLoop() : whyNoMount()) ?? (user === 'root' ? undefined : notRunnable),
    `${kind}, of ${user}: a volume (${volume}) ${where} is unmounted, its mount point ${stray}: nothing leaves the target`,
    async () => {
      using content = volumes[volume]()
      await using migration = await createMigration(kind, user)
      const { source, target } = migration
      const below = places[where]
      const at = join(source, below)
      mkdirSync(at, { recursive: true })
      give(at)
      if (below !== '') write(join(source, 'beside'), 'stays')
      if (stray !== 'empty') write(join(at, 'stray'), 'below the mount point')
      fill(content.path)
      using place = mountPlace(content.path, at)
      place.mount()
      await migration.begin()
      await migration.untilEqual()
      const copied = namesBelow(target)
      expect(copied.length).toBeGreaterThan(files)

      place.unmount()
      await migration.again()
      const { message, since } = await migration.held()
      expect(message).toContain(
        below === '' ? `its folder ${source} is a different folder` : 'nothing is mounted at /volume',
      )
      expect(message).toContain('accept-source')
      expect(namesBelow(target)).toEqual(copied)
      // What stands in its place is neither copied nor taken as removed, whatever is done to it.
      write(join(at, 'wrong'), 'written below the mount point')
      rmSync(join(at, 'stray'), { force: true })

      // Neither a restart nor stopping and starting makes it the source.
      await migration.restart()
      expect(await migration.held()).toMatchObject({ since })
      await migration.call('stop')
      await until('it is stopped', async () => (await migration.get()).state === 'STOPPED')
      expect(await migration.held()).toMatchObject({ since })
      await migration.call('start')
      expect(await migration.held()).toMatchObject({ since })
      if (kind === 'live') expect((await migration.get()).changeLagSeconds).toBeGreaterThan(0)
      expect(namesBelow(target)).toEqual(copied)

      // What belongs there is back, with what has changed meanwhile.
      write(join(content.path, 'later'), 'written meanwhile')
      rmSync(join(content.path, 'folder0'), { recursive: true })
      place.mount()
      await migration.untilEqual()
      expect(namesBelow(target)).toContain(join(below, 'later'))

      // While nobody looks; and this time it is meant.
      await migration.restart(() => place.unmount())
      await migration.again()
      await migration.held()
      expect(namesBelow(target)).toContain(join(below, 'later'))
      await migration.call('accept-source')
      await migration.untilEqual()
      expect(namesBelow(target)).not.toContain(join(below, 'later'))
    },
    patienceMs,
  )
