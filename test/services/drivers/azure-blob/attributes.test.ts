import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  fileMetadata,
  folderMetadata,
  isFolderMarker,
  readAttributes,
} from '../../../../services/drivers/azure-blob/attributes.ts'
import { lossesOf } from '../../../../services/drivers/contract/metadata-values.ts'

/** Metadata as the service gives them back. */
const stored = (headers: Record<string, string>) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.replace('x-ms-meta-', ''), value]))

const lastModified = 'Tue, 14 Nov 2023 22:13:20 GMT'

test('any time and mode come back exactly', () => {
  const modifiedMs = fc
    .double({ min: -62_000_000_000_000, max: 253_402_300_799_000, noNaN: true })
    // Of what is finer than nanoseconds, which is so only near 1970, no file system knows.
    .map((ms) => (Math.abs(ms) < 1e9 ? Math.round(ms * 1_000) / 1_000 : ms))
  const mode = fc.integer({ min: 0, max: 0o7777 })
  fc.assert(
    fc.property(modifiedMs, mode, (modifiedMs, mode) => {
      const read = readAttributes(stored(fileMetadata({ modifiedMs, mode })), lastModified)
      expect(read.mode).toBe(mode)
      expect(Math.abs(read.modifiedMs! - modifiedMs)).toBeLessThanOrEqual(1e-6)
    }),
    { examples: [[0, 0o644]] },
  )
})

test('a time that is unknown or beyond the calendar is not stored', () => {
  for (const modifiedMs of [NaN, Infinity, -1e15, 1e15]) {
    expect(fileMetadata({ modifiedMs })).toEqual({})
    expect(lossesOf({ modifiedMs })).toEqual(['time'])
  }
  expect(fileMetadata({})).toEqual({})
  expect(lossesOf({})).toEqual([])
  expect(readAttributes({}, lastModified)).toEqual({ modifiedMs: 1_700_000_000_000 })
  expect(readAttributes({}, '')).toEqual({})
})

test('a folder’s marker is known as one', () => {
  expect(isFolderMarker(stored(folderMetadata({ mode: 0o700 })))).toBe(true)
  expect(isFolderMarker(stored(fileMetadata({ modifiedMs: 1 })))).toBe(false)
  expect(readAttributes(stored(folderMetadata({ mode: 0o700 })), lastModified).mode).toBe(0o700)
})
