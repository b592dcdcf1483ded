import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect } from 'vitest'
import { type DigestKind, digestKinds } from '../../../services/drivers/contract/driver.ts'
import { Mover, type MoveSpec } from '../../../services/engine/mover.ts'
import type { FilesystemSpec } from '../../../subjects/filesystems/kinds.ts'
import { bodyOf, never, pattern } from '../../conformance/driver-store.ts'
import { type HdfsCluster, hdfsTest, noHdfs, openHdfs, startHdfs } from '../../support/hdfs.ts'
import { createFolder } from '../../support/migrations.ts'
import { freePort } from '../../support/platform.ts'
import { openS3, s3Servers } from '../../support/versitygw.ts'
import { testUnless } from '../../support/unless.ts'
import { compareAll } from '../../services/engine/compare-folder.ts'
import { localSpec } from '../../services/engine/local-spec.ts'

/** Contents are compared by the checksums that real clusters have, of blocks or of the whole. */
const mover = new Mover({ threads: 1, log: { error: () => undefined } })
afterAll(() => mover.close())

const MiB = 2 ** 20
/** Several blocks. */
const content = pattern(3 * MiB + 77)
/** A cluster whose HttpFS tells checksums of the whole: data nodes tell those of blocks, however they are set. */
const startComposite = async () =>
  startHdfs({ 'dfs.checksum.combine.mode': 'COMPOSITE_CRC', httpFs: String(await freePort()) })

/** Writes a file in a folder of a cluster, in blocks of so many bytes. */
async function put(cluster: HdfsCluster, folder: string, bytes = content, blockBytes = MiB): Promise<void> {
  await using driver = openHdfs(cluster.options({ 'dfs.blocksize': String(blockBytes) }))
  await driver.makeFolder(Buffer.from(folder), {})
  const [sizeBytes, path] = [bytes.length, Buffer.from(`${folder}/file`)]
  const upload = await driver.beginUpload(path, { sizeBytes, tag: 't', attributes: {} })
  const count = Math.ceil(sizeBytes / blockBytes)
  for (let index = 0; index < count; index++) {
    const offset = index * blockBytes
    await driver.writePart(upload, index, offset, bodyOf(bytes.subarray(offset, offset + blockBytes)))
  }
  await driver.commitUpload(upload, count, {})
}

const specOf = (cluster: HdfsCluster): FilesystemSpec => ({ kind: 'hdfs', options: cluster.options() })

/** What comparing a folder of a source with one of a target comes to, and how many bytes are read for it. */
async function compared(
  source: FilesystemSpec,
  target: FilesystemSpec,
  from: string,
  to = from,
): Promise<[result: string | undefined, bytesRead: number]> {
  const [root, there] = [Buffer.from(from), Buffer.from(to)]
  const spec: MoveSpec = {
    ...localSpec({ from: '', to: '' }),
    source,
    target,
    root,
    ...(from !== to && { mappings: [{ from: root, to: there }] }),
  }
  const { rows, counts } = await compareAll(mover, spec, { level: 'digest' })
  const row = rows.find(({ sourcePath }) => sourcePath === `/${from}/file`)
  return [row?.scanResult, counts['bytesRead'] ?? 0]
}

hdfsTest(
  'with checksums of blocks, files that have the same blocks are not read, and others only then differ when they do',
  async () => {
    await using cluster = await startHdfs()
    const all = specOf(cluster)
    const changed = Buffer.from(content)
    changed[0]! ^= 1
    for (const folder of ['one', 'same']) await put(cluster, folder)
    await put(cluster, 'other-blocks', content, 2 * MiB)
    await put(cluster, 'changed', changed)
    expect(await compared(all, all, 'one', 'same')).toEqual(['MATCH', 0])
    expect(await compared(all, all, 'one', 'other-blocks')).toEqual(['MATCH', 2 * content.length])
    expect(await compared(all, all, 'one', 'changed')).toEqual([
      'DIGEST_MISMATCH',
      expect.any(Number) as number,
    ])
  },
)

hdfsTest(
  'with checksums of the whole, files are not read whatever their blocks, and folders alone',
  async () => {
    using folder = createFolder('here')
    mkdirSync(join(folder.here, 'one'))
    writeFileSync(join(folder.here, 'one/file'), content)
    await using cluster = await startComposite()
    const all = specOf(cluster)
    const local: FilesystemSpec = { kind: 'local', options: { fsRoot: folder.here } }
    const changed = Buffer.from(content)
    changed[0]! ^= 1
    await put(cluster, 'one')
    await put(cluster, 'other-blocks', content, 2 * MiB)
    await put(cluster, 'changed', changed)
    expect(await compared(all, all, 'one', 'other-blocks')).toEqual(['MATCH', 0])
    expect(await compared(all, all, 'one', 'changed')).toEqual(['DIGEST_MISMATCH', 0])
    expect(await compared(local, all, 'one')).toEqual(['MATCH', content.length])
    expect(await compared(local, all, 'one', 'changed')).toEqual(['DIGEST_MISMATCH', content.length])
  },
)

for (const { name, missing, start } of s3Servers)
  testUnless(
    noHdfs ?? missing,
    `with checksums of the whole, large files of a bucket on ${name} are compared without reading`,
    async () => {
      await using cluster = await startComposite()
      await using server = await start()
      server.createBucket('checksums')
      const options = server.options('checksums', { 'fs.s3a.multipart.size': String(5 * MiB) })
      const large = pattern(6 * MiB)
      await put(cluster, 'one', large)
      const bucket = openS3(options)
      const path = Buffer.from('one/file')
      const upload = await bucket.beginUpload(path, { sizeBytes: large.length, tag: 't', attributes: {} })
      for (const index of [0, 1]) {
        const offset = index * 5 * MiB
        await bucket.writePart(upload, index, offset, bodyOf(large.subarray(offset, offset + 5 * MiB)))
      }
      await bucket.commitUpload(upload, 2, {})
      await bucket.close()
      expect(await compared(specOf(cluster), { kind: 's3a', options }, 'one')).toEqual(['MATCH', 0])
      expect(await compared({ kind: 's3a', options }, specOf(cluster), 'one')).toEqual(['MATCH', 0])
    },
  )

hdfsTest('of what is encrypted or gone, and of folders, there are none', async () => {
  await using cluster = await startHdfs({ zoneKey: 'zone-key' })
  await using driver = openHdfs(cluster.options())
  await put(cluster, 'one')
  await driver.put(Buffer.from('zone/file'), content.subarray(0, MiB), {})
  const madeOf = (path: string, kinds: readonly DigestKind[] = digestKinds) =>
    driver.digestsOf(Buffer.from(path), kinds, never)
  for (const path of ['zone/file', 'zone', 'nothing']) expect(await madeOf(path)).toBeUndefined()
  expect(await madeOf('one/file')).toMatchObject({ digests: { 'hdfs-crc': expect.any(String) } })
  expect(await madeOf('one/file', ['crc32c'])).toBeUndefined()
})
