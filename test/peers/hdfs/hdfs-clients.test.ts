import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, vi } from 'vitest'
import type { Driver, FileAttributes } from '../../../services/drivers/contract/driver.ts'
import { HdfsChecksum } from '../../../services/drivers/hdfs/checksum.ts'
import { Transport } from '../../../services/drivers/http/transport.ts'
import { bodyOf, contentOf, failureOf, pattern } from '../../conformance/driver-store.ts'
import { type HdfsCluster, hdfsTest, noHdfs, openHdfs, startHdfs } from '../../support/hdfs.ts'

/** What Hadoop's own client, in the cluster's process, says of what we write, and writes for us. */
let cluster: HdfsCluster
beforeAll(async () => {
  if (noHdfs === undefined) cluster = await startHdfs()
})
afterAll(async () => cluster?.[Symbol.asyncDispose]())

const attributes = {
  modifiedMs: 1_600_000_000_123,
  mode: 0o1640,
  ownerNames: { user: 'alice', group: 'analysts' },
}

hdfsTest('what we write it reads with all that belongs to it', async () => {
  await using driver = openHdfs(cluster.options({ 'dfs.replication': '2' }))
  expect(await driver.put(Buffer.from('written'), Buffer.from('content'), attributes)).toEqual([])
  expect(await cluster.ask('read', '/written')).toBe('content')
  expect(await cluster.ask('status', '/written')).toBe('alice analysts rw-r----T 1600000000123 7 1048576 2')
})

const MiB = 2 ** 20

/** Writes a file in parts of a MiB that come in an order of their own. */
async function putInParts(
  driver: Driver,
  name: string,
  content: Buffer,
  order: readonly number[],
  attributes: FileAttributes,
): Promise<void> {
  const sizeBytes = content.length
  const upload = await driver.beginUpload(Buffer.from(name), { sizeBytes, tag: 't', attributes })
  for (const index of order) {
    const part = bodyOf(content.subarray(index * MiB, (index + 1) * MiB))
    await driver.writePart(upload, index, index * MiB, part)
  }
  expect(await driver.commitUpload(upload, order.length, attributes)).toEqual([])
}

/** What Hadoop's own client must say of a file with such content. */
function checksumOf(content: Buffer): string {
  const checksum = new HdfsChecksum(MiB)
  checksum.update(content)
  return checksum.digests().md5
}

hdfsTest('the checksum that we expect is the one it has, for whole and broken blocks', async () => {
  await using driver = openHdfs(cluster.options())
  const asked = vi.spyOn(Transport.prototype, 'exchange')
  for (const sizeBytes of [1, 512, 513, MiB - 1, MiB]) {
    const content = pattern(sizeBytes)
    await driver.put(Buffer.from(`sum-${sizeBytes}`), content, {})
    const told = await cluster.ask('checksum', `/sum-${sizeBytes}`)
    expect(told).toMatch(/^MD5-of-0MD5-of-512CRC32C:/)
    expect(told.endsWith(checksumOf(content)), `${sizeBytes}: ${told}`).toBe(true)
  }
  const content = randomBytes(3 * MiB + 77)
  await putInParts(driver, 'joined', content, [3, 1, 0, 2], attributes)
  expect((await cluster.ask('checksum', '/joined')).endsWith(checksumOf(content))).toBe(true)
  // What has another checksum than expected is read back, and would still be right.
  const targets = asked.mock.calls.map(([{ target }]) => target)
  expect(targets.filter((target) => target.includes('op=OPEN'))).toEqual([])
  asked.mockRestore()
  expect((await contentOf(driver, Buffer.from('joined'))).equals(content)).toBe(true)
  expect(await cluster.ask('status', '/joined')).toBe(
    `alice analysts rw-r----T 1600000000123 ${content.length} 1048576 1`,
  )
})

hdfsTest('what it writes we read, and times, owners and modes of what it made', async () => {
  await using driver = openHdfs(cluster.options())
  await cluster.ask('write', '/theirs/file', 'text')
  expect((await contentOf(driver, Buffer.from('theirs/file'))).toString()).toBe('text')
  const [user, group, , modified] = (await cluster.ask('status', '/theirs/file')).split(' ')
  expect(await driver.stat(Buffer.from('theirs/file'))).toMatchObject({
    ownerNames: { user, group },
    modifiedMs: Number(modified),
    mode: 0o644,
  })
})

hdfsTest(
  'extended attributes and access control lists go from file to file and folder to folder',
  async () => {
    await using driver = openHdfs(cluster.options())
    const acl = {
      name: 'hdfs.acl',
      value: Buffer.from('user::rw-,mask::r--,other::---,user:bob:r--,group::r--'),
    }
    const all = [{ name: 'user.origin', value: Buffer.from([0, 255, 10]) }, acl]
    const extended = { all, isComplete: true }
    expect(await driver.put(Buffer.from('with'), Buffer.from('x'), { extended })).toEqual([])
    expect(await cluster.ask('acl', '/with')).toBe('[user:bob:r--, group::r--]')
    const read = (await driver.attributesOf(Buffer.from('with'), { extended: true }))?.extended
    expect(read?.all.map(({ name, value }) => [name, Buffer.from(value).toString('hex')])).toEqual(
      [all[0]!, acl].map(({ name, value }) => [name, value.toString('hex')]),
    )
    await driver.put(Buffer.from('copy'), Buffer.from('x'), { extended: read! })
    expect(await cluster.ask('acl', '/copy')).toBe('[user:bob:r--, group::r--]')
    const foreign = { all: [{ name: 'security.selinux', value: Buffer.from('x') }], isComplete: true }
    expect(await driver.put(Buffer.from('other'), Buffer.from('x'), { extended: foreign })).toEqual([
      'attributes',
    ])
  },
)

hdfsTest('replicas and the size of blocks go from file to file, unless they are set for all', async () => {
  const { additionalProperties: _, ...plain } = cluster.options()
  await using driver = openHdfs(plain)
  const layout = { replication: 3, blockBytes: 2 * MiB }
  const said = async (path: string) => (await cluster.ask('status', path)).split(' ').slice(-2).map(Number)
  expect(await driver.put(Buffer.from('laid-out'), Buffer.from('x'), { layout })).toEqual([])
  expect(await driver.attributesOf(Buffer.from('laid-out'), { extended: true })).toMatchObject({ layout })
  expect(await driver.attributesOf(Buffer.from('laid-out'))).not.toHaveProperty('layout')
  // A file in parts of whole blocks.
  const partBytes = driver.capabilities.parts.sizeFor(1)
  await putInParts(driver, 'parts', pattern(MiB), [0], { layout })
  expect(partBytes % layout.blockBytes).toBe(0)
  expect(await said('/parts')).toEqual([layout.blockBytes, 3])
  // What the cluster does not keep so is lost, and what it cannot have at all is as in all other files.
  const odd = { replication: 10_000, blockBytes: 1000 }
  expect(await driver.put(Buffer.from('odd'), Buffer.from('x'), { layout: odd })).toEqual(['attributes'])
  expect((await said('/odd'))[0]).toBe(128 * MiB)

  await using forAll = openHdfs(cluster.options({ 'dfs.replication': '2' }))
  expect(await forAll.put(Buffer.from('for-all'), Buffer.from('x'), { layout })).toEqual([])
  expect(await said('/for-all')).toEqual([MiB, 2])
})

hdfsTest(
  'who may not give files away is told that the owner is lost, and who may not write that he may not',
  async () => {
    await using superuser = openHdfs(cluster.options())
    await superuser.makeFolder(Buffer.from('home'), { mode: 0o755 })
    await superuser.setAttributes(Buffer.from('home'), { ownerNames: { user: 'bob', group: 'bob' } })
    await using bob = openHdfs({ ...cluster.options(), user: 'bob' })
    expect(await bob.put(Buffer.from('home/file'), Buffer.from('x'), attributes)).toEqual(['owner'])
    expect(await bob.put(Buffer.from('home/more'), Buffer.from('x'), attributes)).toEqual(['owner'])
    expect(await failureOf(bob.put(Buffer.from('elsewhere'), Buffer.from('x'), {}))).toBe('permission')
    await using proxied = openHdfs(cluster.options({ 'gantry.hdfs.doas': 'alice' }))
    expect(await failureOf(proxied.stat(Buffer.from('home')))).toMatch(/permission|refused/)
  },
)

hdfsTest(
  'in an encryption zone, whose checksums are not of the content, files are whole as well, and parts are copied',
  async () => {
    await using zoned = await startHdfs({ zoneKey: 'zone-key' })
    await using driver = openHdfs(zoned.options())
    await driver.put(Buffer.from('zone/file'), Buffer.from('secret'), attributes)
    expect(await zoned.ask('read', '/zone/file')).toBe('secret')
    const content = randomBytes(2 * MiB + 77)
    await putInParts(driver, 'zone/large', content, [2, 0, 1], attributes)
    expect((await contentOf(driver, Buffer.from('zone/large'))).equals(content)).toBe(true)
  },
  120_000,
)

hdfsTest(
  'with two name nodes: the one that is active is asked, also when it changes in the middle',
  async () => {
    await using pair = await startHdfs({ nameNodes: '2' })
    await using driver = openHdfs(pair.options())
    await driver.put(Buffer.from('before'), Buffer.from('x'), {})
    await pair.ask('failover')
    await driver.put(Buffer.from('after'), Buffer.from('y'), {})
    await using another = openHdfs(pair.options())
    expect((await contentOf(another, Buffer.from('before'))).toString()).toBe('x')
    expect((await contentOf(another, Buffer.from('after'))).toString()).toBe('y')
    expect(await another.stat(Buffer.from('nothing'))).toBeUndefined()
  },
  120_000,
)
