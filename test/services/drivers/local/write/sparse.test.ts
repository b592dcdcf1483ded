import { closeSync, ftruncateSync, lstatSync, openSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { copySparseRange, isSparse } from '../../../../../services/drivers/local/write/sparse.ts'
import { systemCalls } from '../../../../../services/drivers/local/system-calls.ts'
import { pattern } from '../../../../conformance/driver-store.ts'
import { createFolder } from '../../../../support/migrations.ts'

const MiB = 1024 * 1024
const KiB = 1024

/** Makes a file of this size with content at these places only. */
function makeSparse(
  path: string,
  sizeBytes: number,
  content: readonly (readonly [at: number, bytes: number])[],
): number {
  const fd = openSync(path, 'wx+')
  ftruncateSync(fd, sizeBytes)
  for (const [at, bytes] of content) writeSync(fd, pattern(bytes, at + 1), 0, bytes, at)
  return fd
}

/** Where a file has content, and how long it is. */
const cases: Record<string, [sizeBytes: number, content: [number, number][]]> = {
  'nothing but a hole': [8 * MiB, []],
  'a hole at the end': [8 * MiB, [[0, 100]]],
  'a hole at the beginning': [8 * MiB, [[8 * MiB - 5_000, 5_000]]],
  'holes between': [
    9 * MiB + 77,
    [
      [0, 10],
      [MiB + 1, 70_000],
      [5 * MiB - 3, 300_000],
      [9 * MiB, 77],
    ],
  ],
  'content that ends with a part': [
    8 * MiB,
    [
      [3 * MiB, MiB],
      [8 * MiB - 1, 1],
    ],
  ],
}

const ways = { 'asked for': systemCalls() ?? null, 'found by their zeros': null }

describe.each(Object.entries(ways))('holes %s', (_, calls) => {
  test.each(Object.entries(cases))(
    '%s: the copy is the same, and as sparse',
    (_name, [sizeBytes, content]) => {
      using folder = createFolder('data')
      const [source, target] = [join(folder.data, 'source'), join(folder.data, 'target')]
      const from = makeSparse(source, sizeBytes, content)
      const to = openSync(target, 'wx+')
      // In parts, the last one first, as several threads may do it.
      const parts = Array.from(
        { length: Math.ceil(sizeBytes / (4 * MiB)) },
        (_part, index) => index * 4 * MiB,
      )
      for (const at of parts.toReversed())
        copySparseRange(from, to, [at, Math.min(4 * MiB, sizeBytes - at)], sizeBytes, undefined, calls)
      for (const fd of [from, to]) closeSync(fd)
      expect(readFileSync(target).equals(readFileSync(source))).toBe(true)
      expect(isSparse(sizeBytes, lstatSync(source).blocks)).toBe(true)
      const more = (lstatSync(target).blocks - lstatSync(source).blocks) * 512
      // A block of zeros that holds some content is written whole, and the last byte always is.
      expect(more).toBeLessThanOrEqual((content.length + 1) * 128 * KiB)
    },
  )
})

test('a file that became shorter is noticed by who looks for zeros; who asks for holes looks at the file afterwards', () => {
  using folder = createFolder('data')
  const from = makeSparse(join(folder.data, 'source'), 2 * MiB, [])
  const to = openSync(join(folder.data, 'target'), 'wx+')
  ftruncateSync(from, MiB)
  expect(() => copySparseRange(from, to, [0, 2 * MiB], 2 * MiB, undefined, null)).toThrow(
    expect.objectContaining({ failure: 'changed' }),
  )
  for (const fd of [from, to]) closeSync(fd)
})
