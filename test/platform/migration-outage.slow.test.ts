import { expect, test } from 'vitest'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { startAzurite } from '../support/azurite.ts'
import { compareContainer } from '../support/compare-container.ts'
import { recordingLog } from '../support/log.ts'
import { addAzurite, addLocal, createFolder, migrate, nextEvent, outcomeOf } from '../support/migrations.ts'
import { freePort, startTestPlatform } from '../support/platform.ts'
import { makeTree } from '../support/tree.ts'
import { until } from '../support/until.ts'

test('a target that goes away in the middle is waited for', { timeout: 120_000 }, async () => {
  using folder = createFolder('from', 'store')
  makeTree(folder.from, { seed: 6, files: 500, isPortable: true })
  const place = { folder: folder.store, port: await freePort() }
  const first = await startAzurite(place)
  await first.createContainer('there')
  const logged = recordingLog()
  await using platform = await startTestPlatform({ log: logged.log })
  await addLocal(platform, 'from', 'source', folder.from)
  await addAzurite(platform, 'to', 'target', first, 'there')
  const completed = await nextEvent(platform, 'completed', 'one')
  await platform.call(migrations.create, {
    migrationId: 'one',
    path: '/',
    source: 'from',
    target: 'to',
    autoStart: true,
  })
  const migrated = async () =>
    (await platform.call(migrations.progress, { migrationId: 'one' })).progress.filesMigrated
  await until('some files have arrived', async () => (await migrated()) > 0)
  await first.stop()
  // Nothing moves now, and whoever looks into the log sees why.
  await until('the reason is told', () =>
    logged.lines.some(
      ({ message, details }) =>
        message.includes('retrying') && String(details['reason']).includes('target: '),
    ),
  )
  const conditions = async () => (await platform.call(migrations.get, { migrationId: 'one' })).conditions
  // And whoever asks.
  const away = async () => (await conditions()).find(({ reason }) => reason === 'TARGET_UNREACHABLE')
  await until('the migration says it', away)
  const [told] = [await away()]
  expect(told?.message).toContain('target: ')
  await until('it is told for longer', async () => Date.parse(told!.since) < Date.now() - 1_500)
  expect((await away())?.since).toBe(told!.since)
  const before = await migrated()
  await using second = await startAzurite({ ...place, key: first.key })
  await completed.payload
  // Nothing is in the way any more; what stays is that links, which the target cannot hold, did not arrive.
  expect((await conditions()).map(({ reason }) => reason)).toEqual(['PATHS_FAILED'])
  const { progress, failures } = await outcomeOf(platform, 'one')
  expect(failures.length).toBeGreaterThan(0)
  expect(before).toBeLessThan(progress.filesScanned)
  expect(failures.filter(({ path }) => !path.startsWith('/links/'))).toEqual([])
  expect(
    await compareContainer(folder.from, second.service.getContainerClient('there'), () => false),
  ).toEqual([])

  // Once more, of what is there already and of the same size nothing is copied.
  await platform.call(migrations.delete, { migrationId: 'one' })
  const again = await migrate(platform, { source: 'from', target: 'to', actionPolicy: 'SkipIfSizeMatch' })
  expect(again.progress.filesMigrated).toBe(0)
  expect(again.progress.filesSkipped).toBe(progress.filesMigrated)
})
