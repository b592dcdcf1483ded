import { expect, test } from 'vitest'
import { HdfsClient } from '../../../../services/drivers/hdfs/client.ts'
import { HdfsDriver } from '../../../../services/drivers/hdfs/hdfs.ts'
import { Snapshots } from '../../../../services/drivers/hdfs/snapshots.ts'
import { startHostileHdfsDouble } from '../../../support/hostile-hdfs-double.ts'

test('small reads of answers without a length have the bytes that came, and nothing else', async () => {
  const content = 'x'.repeat(1_000)
  await using server = await startHostileHdfsDouble(() => [], content)
  const driver = new HdfsDriver(server.options)
  for (let round = 0; round < 50; round++) {
    // What else the pool of small buffers has in it.
    for (let other = 0; other < 5; other++) Buffer.from('somebody else’s'.repeat(20))
    const file = await driver.open(Buffer.from('f.txt'))
    expect((await file.read(0, content.length)).toString()).toBe(content)
    await file.close()
  }
  await driver.close()
})

test('names that no path can have are listed as neither files nor folders', async () => {
  const names = ['a', '..', '../b', 'c/d', '']
  await using server = await startHostileHdfsDouble(() =>
    names.map((pathSuffix) => ({ pathSuffix, type: 'DIRECTORY' })),
  )
  const driver = new HdfsDriver(server.options)
  const types = new Map<string, string>()
  for await (const { entries } of driver.list(Buffer.alloc(0), new AbortController().signal))
    for (const { name, type } of entries) types.set(name.toString(), type)
  expect(types).toEqual(
    new Map([
      ['a', 'folder'],
      ['..', 'other'],
      ['../b', 'other'],
      ['c/d', 'other'],
      ['', 'other'],
    ]),
  )
  await driver.close()
})

test.each([
  { type: 'CREATE', sourcePath: '../planted' },
  { type: 'RENAME', sourcePath: 'a', targetPath: 'b/../../planted' },
  { type: 'MODIFY', sourcePath: '/etc' },
])('a difference of snapshots with a path that none has is not taken: %j', async (difference) => {
  await using server = await startHostileHdfsDouble(() => [], 'abc', [difference])
  const [, host = '', port] = /^webhdfs:\/\/([^:]+):(\d+)$/.exec(server.options.defaultFS) ?? []
  const limits = {
    connectTimeoutMs: 1_000,
    idleTimeoutMs: 1_000,
    connections: 1,
    retries: 0,
    minBackoffMs: 1,
    maxBackoffMs: 1,
  }
  const endpoint = { secure: false, host, port: Number(port) }
  const client = new HdfsClient([endpoint], { parameters: { 'user.name': 'ada' } }, limits)
  const snapshots = new Snapshots(client, Buffer.from('lake'), () => () => 'compare')
  await expect(snapshots.differences('one', 'other')).rejects.toMatchObject({ failure: 'unreachable' })
  await client.close()
})
