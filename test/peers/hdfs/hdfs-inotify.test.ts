import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, expect } from 'vitest'
import { LocalDriver } from '../../../services/drivers/local/local.ts'
import { settings } from '../../../subjects/access/settings.ts'
import { filesystems } from '../../../subjects/filesystems/filesystems.ts'
import { loopback } from '../../../subjects/kit/names.ts'
import { migrations } from '../../../subjects/migrations/migrations.ts'
import { capabilitiesOf } from '../../support/example-extension.ts'
import { callExample, stopExample } from '../../support/example.ts'
import { type HdfsCluster, noHdfs, openHdfs, startHdfs } from '../../support/hdfs.ts'
import { createKey } from '../../support/keys.ts'
import { addLocal, createFolder } from '../../support/migrations.ts'
import { startTestPlatform, type TestPlatform } from '../../support/platform.ts'
import { whyMissing } from '../../support/provide.ts'
import { seededRandom } from '../../support/random.ts'
import { liveDifferences } from '../../support/store-tree.ts'
import { StoreWriter } from '../../support/store-writer.ts'
import { testUnless } from '../../support/unless.ts'
import { until } from '../../support/until.ts'

const missing = noHdfs ?? whyMissing('HDFS_INOTIFY_CLASSES')

let cluster: HdfsCluster
let platform: TestPlatform
beforeAll(async () => {
  if (missing !== undefined) return
  ;[cluster, platform] = await Promise.all([startHdfs(), startTestPlatform()])
  await platform.call(settings.put, { storeHosts: [loopback] })
})
afterAll(async () => {
  await platform?.[Symbol.asyncDispose]()
  await cluster?.[Symbol.asyncDispose]()
})

const get = (migrationId: string) => platform.call(migrations.get, { migrationId })

/** Starts the example (`examples/hdfs-inotify`) and waits until it is registered. */
async function startReporter(source: string, positionFile: string): Promise<ChildProcess> {
  const { token } = await createKey(
    platform,
    capabilitiesOf('hdfs-inotify', [filesystems['report-changes'].subject]),
  )
  const child = spawn(
    'java',
    [
      '-cp',
      process.env['HDFS_INOTIFY_CLASSES']!,
      'HdfsInotify',
      source,
      positionFile,
      await cluster.ask('address'),
    ],
    {
      env: { ...process.env, GANTRY_TOKEN: token, HADOOP_USER_NAME: process.env['USER'] ?? 'root' },
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  )
  for await (const line of createInterface(child.stdout))
    if (line === 'hdfs-inotify is registered') return child
  throw new Error('the example has ended')
}

async function kill(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}

testUnless(
  missing,
  'live by the events of the name node: all arrives, over a kill of who reports them, and nothing is compared',
  async () => {
    using folder = createFolder('to', 'position')
    const positionFile = join(folder.position, 'txid')
    const to = new LocalDriver({ fsRoot: folder.to })
    await using source = openHdfs(cluster.options())
    const at = (path: string) => Buffer.from(`told/${path}`)
    for (const path of ['told', 'told/w']) await source.makeFolder(Buffer.from(path), {})
    await source.put(at('kept'), Buffer.from('at the source'), {})
    await addLocal(platform, 'told-to', 'target', folder.to)
    await platform.call(filesystems['create-hdfs'], {
      fileSystemId: 'told-from',
      role: 'source',
      scanOnly: false,
      reportedChanges: true,
      ...cluster.options(),
    })
    const writer = new StoreWriter(source, at('w'), seededRandom(3))
    const write = async (count: number) => {
      for (let step = 0; step < count; step++) await writer.step()
    }
    await write(15)
    let reporter = await startReporter('told-from', positionFile)
    const migrationId = 'told'
    const live = { migrationId, path: '/told', source: 'told-from', target: 'told-to', autoStart: true }
    await platform.call(migrations.create, live)
    await write(15)
    await until('it is LIVE', async () => (await get(migrationId)).state === 'LIVE')
    expect(await get(migrationId)).toMatchObject({ changeDetection: 'reported' })
    await source.makeFolder(at('old'), {})
    for (const name of ['1', '2', '50%']) await source.put(at(`old/${name}`), Buffer.from(`file ${name}`), {})
    await until('it arrives', async () => (await to.stat(Buffer.from('told/old/50%'))) !== undefined)
    await source.rename(at('old'), at('new'))
    await write(20)
    const differences = () => liveDifferences([source, to], Buffer.from('told'))
    let left: string[] = []
    const untilLeft = (what: string, areExpected: (left: string[]) => boolean) =>
      until(what, async () => areExpected((left = await differences()))).catch((cause: unknown) => {
        throw new Error(left.join('\n'), { cause })
      })
    await untilLeft('nothing differs', (some) => some.length === 0)
    const said = await callExample(platform, 'hdfs-inotify/status', {})
    expect(said).toMatchObject({ status: 200, body: { source: 'told-from' } })
    expect((said.body as { reported: number }).reported).toBeGreaterThan(50)

    // Only a comparison would find it.
    const kept = join(folder.to, 'told/kept')
    writeFileSync(kept, 'something else at the target')
    const writing = write(40)
    await kill(reporter)
    await writing
    reporter = await startReporter('told-from', positionFile)
    await write(10)
    await untilLeft(
      'all but that arrives',
      (some) => some.length > 0 && some.every((one) => one.includes('kept')),
    )
    expect(readFileSync(kept, 'utf8')).toBe('something else at the target')
    expect((await platform.call(migrations.failures, { migrationId })).failedPaths).toEqual([])

    // What the name node does not know, everything is compared for.
    await kill(reporter)
    writeFileSync(positionFile, '1000000000000\n')
    reporter = await startReporter('told-from', positionFile)
    await untilLeft('that as well', (some) => some.length === 0)
    expect(Number(readFileSync(positionFile, 'utf8'))).toBeLessThan(1_000_000)

    // The status of a JVM that was asked to end.
    await stopExample(platform, reporter, 143)
    await platform.call(migrations.stop, { migrationId })
    await until('it is stopped', async () => (await get(migrationId)).state === 'STOPPED')
  },
  240_000,
)
