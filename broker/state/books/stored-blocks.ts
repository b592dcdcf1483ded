import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

/*
 * A block is a row of records, as nats-server 2.12 to 2.15 writes them (filestore.go): length with a bit for headers (4
 * bytes), sequence with bits for a removal and for a removed message (8), time (8), length of the subject (2), subject,
 * headers and payload, checksum (8); numbers are little-endian.
 */
const headBytes = 22
const checksumBytes = 8
const lengthMask = 0x7fffffff
const removalBits = 3n << 62n
/** nats-server goes through a gap one by one: one of this size takes it a second, and no run of removals leaves it in a block. */
const maxGap = 1n << 23n

/** Bytes of the blocks in the folder of a stream's messages. */
export const blockBytes = (folder: string): number =>
  blocksIn(folder).reduce((sum, path) => sum + statSync(path).size, 0)

/**
 * Whether the blocks of a stream are rows of records with ascending sequences. That a record holds what was written is not
 * looked at.
 */
export const areBlocksWhole = (folder: string): boolean =>
  blocksIn(folder).every((path) => isRow(readFileSync(path)))

const blocksIn = (folder: string): string[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.blk'))
    .map((name) => join(folder, name))

function isRow(block: Buffer): boolean {
  let last: bigint | undefined
  let at = 0
  while (at + headBytes <= block.length) {
    const length = block.readUInt32LE(at) & lengthMask
    const sequence = block.readBigUInt64LE(at + 4)
    const subjectLength = block.readUInt16LE(at + 20)
    if (length < headBytes + subjectLength + checksumBytes) return false
    if ((sequence & removalBits) === 0n) {
      if (last !== undefined && (sequence <= last || sequence - last > maxGap)) return false
      last = sequence
    }
    at += length
  }
  return at === block.length
}
