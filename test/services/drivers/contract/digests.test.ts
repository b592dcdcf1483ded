import { expect, test } from 'vitest'
import {
  commonDigest,
  digestKinds,
  readableDigest,
  tellsApart,
} from '../../../../services/drivers/contract/driver.ts'

test('of the digests that two contents have, the one that says most is compared', () => {
  const [one, other] = [
    { md5: 'a', sha256: 'b', crc32c: 'c' },
    { crc32c: 'd', md5: 'e', sha256: 'f' },
  ]
  expect(commonDigest(one, other)).toEqual({ kind: 'sha256', values: ['b', 'f'] })
  expect(commonDigest({ md5: 'a', crc32c: 'c' }, { crc32c: 'd' })).toEqual({
    kind: 'crc32c',
    values: ['c', 'd'],
  })
  expect(commonDigest({ md5: 'a' }, { sha256: 'b' })).toBeUndefined()
  expect(commonDigest({ md5: 'a' }, undefined)).toBeUndefined()
})

test('a digest that reading cannot make says nothing about what was read', () => {
  expect(readableDigest({ crc64nvme: 'a', md5: 'b' })).toEqual({ kind: 'md5', value: 'b' })
  expect(readableDigest({ crc64nvme: 'a', crc32c: 'b' })).toEqual({ kind: 'crc32c', value: 'b' })
  expect(readableDigest({ 'hdfs-crc': 'a' })).toBeUndefined()
  expect(readableDigest(undefined)).toBeUndefined()
})

test('of all digests that of the blocks of HDFS alone may differ where the content does not', () => {
  expect(digestKinds.filter((kind) => !tellsApart(kind))).toEqual(['hdfs-crc'])
})
