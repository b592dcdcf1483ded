import { rmSync } from 'node:fs'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { expect, test } from 'vitest'
import { alerts } from '../../subjects/observability/alerts.ts'
import { compareTrees } from '../support/compare-trees.ts'
import { recordingLog } from '../support/log.ts'
import { addLocal, createFolder, migrate } from '../support/migrations.ts'
import { connectAsPlatform } from '../support/platform-account.ts'
import { createHome, startTestPlatform, type TestPlatform } from '../support/platform.ts'
import { makeTree } from '../support/tree.ts'
import { until } from '../support/until.ts'
import { bareExtension } from '../support/example-extension.ts'

const mebi = 2 ** 20
const limits = { max_file: 64 * mebi, max_mem: 16 * mebi }
/** Above what alerts and listing look at, below what the migration itself needs. */
const filledShare = 0.85

/** Takes storage of both kinds, until that share of its limit is taken. */
async function fill(platform: TestPlatform) {
  const connection = await connectAsPlatform(platform)
  const manager = await jetstreamManager(connection)
  const chunk = new Uint8Array(mebi / 4)
  for (const storage of ['file', 'memory'] as const) {
    const subject = `filler.${storage}`
    await manager.streams.add({ name: `FILLER_${storage}`, subjects: [subject], storage })
    const taken = async () => {
      const { storage: file, memory } = await manager.getAccountInfo()
      return storage === 'file' ? file / limits.max_file : memory / limits.max_mem
    }
    while ((await taken()) < filledShare) await jetstream(connection).publish(subject, chunk)
  }
  return connection
}

test('near max_file and max_mem the platform slows down, says so, and fails nobody', async () => {
  using folder = createFolder('from', 'to')
  makeTree(folder.from, { seed: 11, files: 4_000 })
  const home = await createHome({ max_file: `${limits.max_file}`, max_mem: `${limits.max_mem}` })
  const logged = recordingLog()
  await using platform = await startTestPlatform({ home, log: logged.log })
  const connection = await fill(platform)

  await addLocal(platform, 'from', 'source', folder.from)
  await addLocal(platform, 'to', 'target', folder.to)
  await migrate(platform, { migrationId: 'one', path: '/', source: 'from', target: 'to' })
  expect(compareTrees(folder.from, folder.to)).toEqual([])
  expect(logged.lines.map(({ message }) => message)).toContainEqual(
    expect.stringMatching(/nearly full .*listing waits/),
  )

  // Whoever else stores something has room.
  await using extension = await bareExtension(platform, 'weather', { pub: ['gantry.services.v1.usage.*'] })
  const answers = [
    await extension.register(),
    await extension.ask('extension-storage.put', { prefix: 'weather', key: 'last', value: 'sunny' }),
    await extension.ask('usage.record', { prefix: 'weather', dimension: 'forecasts', quantity: 1 }),
  ]
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])

  for (const rule of ['storage-file', 'storage-memory']) {
    await until(`${rule} fires`, async () =>
      (await platform.call(alerts.list, { rule, state: 'firing' })).some(({ value = 0 }) => value >= 80),
    )
  }
  await connection.close()
  rmSync(home, { recursive: true, force: true })
})
