import { rmSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { type Azurite, startAzurite } from '../support/azurite.ts'
import { addAzurite, addLocal, createFolder } from '../support/migrations.ts'
import { createHome, startTestPlatform } from '../support/platform.ts'
import { namesBelow } from '../support/names-below.ts'
import { until } from '../support/until.ts'

/** Restarts, and comparisons that wait for their turn. */
const patienceMs = 180_000

let azurite: Azurite
beforeAll(async () => {
  azurite = await startAzurite()
})
afterAll(() => azurite[Symbol.asyncDispose]())

const matches = { targetMatch: true, maxDeletions: 1_000, maxDeletionPercent: 100 }
const kinds = {
  'one-time': matches,
  recurring: { ...matches, recurringMigration: true, recurringPeriod: '1H' },
  live: { scanOnlyMigration: false, comparisonPeriodSeconds: 1 },
} as const
type Kind = keyof typeof kinds

const files = 40

/** A migration from a container of its own to a folder, on a platform of its own that can be started again. */
async function createMigration(kind: Kind, name: string) {
  const folder = createFolder('target')
  const home = await createHome()
  let platform = await startTestPlatform({ home })
  const container = azurite.service.getContainerClient(name)
  const migrationId = name
  const call = (verb: 'get' | 'start' | 'stop' | 'reset' | 'accept-source' | 'approve-deletions') =>
    platform.call(migrations[verb], { migrationId })
  const fill = async (from: number, to: number) => {
    for (let index = from; index < to; index++)
      await container.getBlockBlobClient(`folder${index % 3}/${index}`).upload(`content of ${index}`, 12)
  }
  await container.create()
  await fill(0, files)
  await addAzurite(platform, 'from', 'source', azurite, name)
  await addLocal(platform, 'to', 'target', folder.target)
  await platform.call(migrations.create, {
    migrationId,
    path: '/',
    source: 'from',
    target: 'to',
    autoStart: true,
    ...kinds[kind],
  })
  const isDone = async () =>
    ['COMPLETED', 'WAITING_FOR_NEXT_RECURRENCE', 'LIVE'].includes((await call('get')).state)
  await until('all is copied', isDone)
  return {
    container,
    call,
    fill,
    /** All names at the target. */
    listed: () => namesBelow(folder.target),
    condition: (wanted: string) =>
      until(`it says ${wanted}`, async () =>
        (await call('get')).conditions.find(({ reason }) => reason === wanted),
      ),
    /** Has it look at its source again, where it does not do so by itself. */
    again: () => (kind === 'live' ? undefined : call(kind === 'recurring' ? 'start' : 'reset')),
    untilDone: () => until('it is done', isDone),
    restart: async () => {
      await platform[Symbol.asyncDispose]()
      platform = await startTestPlatform({ home })
    },
    [Symbol.asyncDispose]: async () => {
      await platform[Symbol.asyncDispose]()
      rmSync(home, { recursive: true, force: true })
      folder[Symbol.dispose]()
    },
  }
}

const cases = [
  { kind: 'live', isRestarted: false },
  { kind: 'live', isRestarted: true },
  { kind: 'recurring', isRestarted: false },
  { kind: 'one-time', isRestarted: true },
] as const

for (const { kind, isRestarted } of cases)
  test(
    `${kind}${isRestarted ? ', with a restart' : ''}: a container that was deleted and made again removes nothing until it is accepted`,
    async () => {
      const name = `again-${kind}-${isRestarted ? 'restarted' : 'running'}`
      await using migration = await createMigration(kind, name)
      const copied = migration.listed()
      expect(copied).toHaveLength(files + 3)
      await expect(migration.call('accept-source')).rejects.toMatchObject({
        code: 'NOT_ALLOWED_IN_STATE',
        message: expect.stringContaining('has no changed source to accept'),
      })
      await migration.container.delete()
      await migration.container.create()
      await migration.container.getBlockBlobClient('stray').upload('stray', 5)
      if (isRestarted) await migration.restart()
      await migration.again()
      // For a moment it was not there at all.
      const { message } = await until('it says that it is another one', async () =>
        (await migration.call('get')).conditions.find(
          (one) => one.reason === 'SOURCE_CHANGED' && one.message.includes('was replaced'),
        ),
      )
      expect(message).toContain(
        `"gantry migrations accept-source ${name}"; files that are not at the source are then`,
      )
      expect((await migration.call('get')).stateText).toMatch(
        /^(Live|Running), blocked: the source has changed/,
      )
      expect(message).toContain(`container ${name} of account ${azurite.account} was replaced`)
      expect(migration.listed().filter((path) => path !== 'stray')).toEqual(copied)

      expect(await migration.call('accept-source')).toMatchObject({
        accepted: {
          was: expect.stringMatching(/^a container that was created or whose properties were changed at /),
          is: expect.stringMatching(/^a container that was created or whose properties were changed at /),
        },
      })
      // All of a live one goes, so that this has to be approved of as well.
      if (kind === 'live') {
        await migration.condition('WAITS_FOR_APPROVAL')
        expect(migration.listed().filter((path) => path !== 'stray')).toEqual(copied)
        await migration.call('approve-deletions')
      }
      await until('it is as its source', () => migration.listed().join() === 'stray')
      await until('nothing is wrong any more', async () =>
        (await migration.call('get')).conditions.every(({ reason }) => reason === 'COMPARING'),
      )
    },
    patienceMs,
  )

test(
  'a container whose metadata were changed is still the same one, over restarts too',
  async () => {
    await using migration = await createMigration('live', 'described')
    await migration.container.setMetadata({ owner: 'somebody' })
    await migration.restart()
    await migration.container.setMetadata({ owner: 'somebody else' })
    await migration.fill(files, files + 1)
    await until('it goes on', () => migration.listed().length === files + 4)
    expect((await migration.call('get')).conditions.map(({ reason }) => reason)).not.toContain(
      'SOURCE_CHANGED',
    )
  },
  patienceMs,
)

test(
  'a container that was emptied but for a few blobs removes nothing from the target of a live migration until that is approved of',
  async () => {
    await using migration = await createMigration('live', 'emptied')
    const copied = migration.listed()
    // A few may go at once.
    await migration.container.deleteBlob('folder0/0')
    await until('it is gone', () => migration.listed().length === copied.length - 1)
    const before = migration.listed()
    await migration.call('stop')
    await until('it is stopped', async () => (await migration.call('get')).state === 'STOPPED')
    for (let index = 1; index < files - 1; index++)
      await migration.container.deleteBlob(`folder${index % 3}/${index}`)
    await migration.call('start')
    const { message } = await migration.condition('WAITS_FOR_APPROVAL')
    expect(message).toContain('38 files and 2 folders, 93 % of the 43 entries of the target')
    expect(migration.listed()).toEqual(before)
    await migration.restart()
    await migration.condition('WAITS_FOR_APPROVAL')
    expect(migration.listed()).toEqual(before)
    await migration.call('approve-deletions')
    await until('they are gone', () => migration.listed().join() === 'folder0,folder0/39')
  },
  patienceMs,
)
