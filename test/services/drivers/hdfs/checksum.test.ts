import { expect, test } from 'vitest'
import { HdfsChecksum, isOfContent, toldChecksum } from '../../../../services/drivers/hdfs/checksum.ts'

test('the checksum that Hadoop 3.4 tells of a file, with bytes after its end, is that of the content', () => {
  const told = toldChecksum({
    FileChecksum: {
      algorithm: 'MD5-of-0MD5-of-512CRC32C',
      bytes: '000002000000000000000000c6782a762a10ae8efa83e2463d9a705400000000',
      length: 28,
    },
  })
  const of = (content: Buffer) => {
    const checksum = new HdfsChecksum(2 ** 20)
    checksum.update(content)
    return checksum.digests()
  }
  expect(isOfContent(told!, of(Buffer.alloc(1_000, 1)))).toBe(true)
  expect(isOfContent(told!, of(Buffer.alloc(1_000, 2)))).toBe(false)
})
