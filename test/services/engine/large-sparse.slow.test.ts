import { closeSync, ftruncateSync, openSync, readSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { encodeItem } from '../../../services/engine/items/items.ts'
import { createMove } from './move-folder.ts'

/** Beyond what 32 and 40 bits count. GANTRY_SPARSE_TB=5 takes some minutes: each hole is looked at in parts. */
const sizeBytes = Number(process.env['GANTRY_SPARSE_TB'] ?? 1.2) * 1e12
const word = Buffer.from('content')
const places = [0, 2 ** 32 - 3, 2 ** 40 + 12_345, sizeBytes - word.length]

test(`a file of ${sizeBytes} bytes, nearly all of them holes, arrives with what it has where it has it`, async () => {
  await using move = createMove()
  const [from, to] = [join(move.from, 'large'), join(move.to, 'large')]
  const written = openSync(from, 'w')
  ftruncateSync(written, sizeBytes)
  for (const place of places) writeSync(written, word, 0, word.length, place)
  closeSync(written)
  const item = encodeItem({ kind: 'large', attempt: 1, notBeforeMs: 0, path: Buffer.from('large') })
  const { counts, failures } = await move.mover.transfer(move.spec, item, new AbortController().signal)
  expect(failures).toEqual([])
  expect(counts).toMatchObject({ filesMigrated: 1, bytesMigrated: sizeBytes })
  expect(statSync(to)).toMatchObject({ size: sizeBytes, blocks: statSync(from).blocks })
  const fd = openSync(to, 'r')
  for (const place of places) {
    const there = Buffer.alloc(word.length)
    readSync(fd, there, 0, there.length, place)
    expect(there.toString(), `at ${place}`).toBe(word.toString())
  }
  closeSync(fd)
}, 900_000)
