import { closeSync, constants, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { StoreError } from '../../../../services/drivers/contract/driver.ts'
import { chunkBytes, copyRange, writeVerified } from '../../../../services/drivers/local/file.ts'
import { pattern } from '../../../conformance/driver-store.ts'
import { createFolder } from '../../../support/migrations.ts'

const opened: number[] = []
afterEach(() => opened.splice(0).forEach((fd) => closeSync(fd)))

function open(path: string, flags = constants.O_RDWR): number {
  const fd = openSync(path, flags)
  opened.push(fd)
  return fd
}

function failureOf(work: () => void): unknown {
  try {
    work()
  } catch (error) {
    return error instanceof StoreError ? error.failure : error
  }
  return 'none'
}

// Devices that lie about what they keep: one gives zeros back, the other nothing.
test.for(['/dev/zero', '/dev/null'])(
  'a target that gives back what was not written is corrupt: %s',
  (device) => {
    using folder = createFolder('data')
    const source = join(folder.data, 'source')
    for (const size of [1, chunkBytes, chunkBytes + 1]) {
      writeFileSync(source, pattern(size))
      expect(
        failureOf(() => copyRange(open(source), open(device), 0, size)),
        `${size}`,
      ).toBe('corrupt')
      expect(
        failureOf(() => writeVerified(open(device), pattern(size), 0)),
        `${size}`,
      ).toBe('corrupt')
    }
  },
)

test('the last byte of the last chunk is compared as well', () => {
  using folder = createFolder('data')
  const source = join(folder.data, 'source')
  const bytes = Buffer.alloc(2 * chunkBytes + 3)
  writeFileSync(source, bytes)
  expect(failureOf(() => copyRange(open(source), open('/dev/zero'), 0, bytes.length))).toBe('none')
  bytes[bytes.length - 1] = 1
  writeFileSync(source, bytes)
  expect(failureOf(() => copyRange(open(source), open('/dev/zero'), 0, bytes.length))).toBe('corrupt')
})

test('parts of a file, written in any order, are the file', () => {
  using folder = createFolder('data')
  const [source, target] = [join(folder.data, 'source'), join(folder.data, 'target')]
  const bytes = pattern(3 * chunkBytes + 5)
  writeFileSync(source, bytes)
  writeFileSync(target, '')
  const half = chunkBytes + 7
  copyRange(open(source), open(target), half, bytes.length - half)
  writeVerified(open(target), bytes.subarray(0, half), 0)
  expect(readFileSync(target).equals(bytes)).toBe(true)
})
