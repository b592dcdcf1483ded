import { createHash, type Hash, hash } from 'node:crypto'
import { crc32c } from '@node-rs/crc32'
import type { Digests } from '../contract/driver.ts'
import { field } from './client.ts'

/** How clusters make checksums since Hadoop 2.0, unless they are set otherwise: what is of another kind is read back. */
const bytesPerCrc = 512

/** Bytes of an MD5, of a CRC, and of the checksum of blocks: two numbers, and an MD5. */
const md5Bytes = 16
const crcBytes = 4
const blocksBytes = 4 + 8 + md5Bytes
/** The buffer that Hadoop digests at the end is never shorter, and doubles as it grows: what is not used of it is zero. */
const leastBufferBytes = 32

/**
 * The checksum that a cluster will have of a file, of what is written to it: a CRC for each 512 bytes, an MD5 of those of each
 * block, an MD5 of these. Beside it that of the whole content, which a cluster can be set to tell instead.
 */
export class HdfsChecksum {
  readonly #blockBytes: number
  readonly #blocks: Buffer[] = []
  #block: Hash = createHash('md5')
  #inBlock = 0
  #whole = 0
  /** What does not fill a chunk yet. */
  #rest = Buffer.alloc(0)

  /** @param blockBytes a multiple of 512 */
  constructor(blockBytes: number) {
    this.#blockBytes = blockBytes
  }

  update(bytes: Buffer): void {
    this.#whole = crc32c(bytes, this.#whole)
    const all = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes])
    const usable = all.length - (all.length % bytesPerCrc)
    for (let at = 0; at < usable;) {
      const end = Math.min(usable, at + this.#blockBytes - this.#inBlock)
      this.#add(all.subarray(at, end))
      at = end
    }
    this.#rest = Buffer.from(all.subarray(usable))
  }

  /** MD5 of the MD5s and CRC of the whole, in hexadecimal digits. */
  digests(): { readonly md5: string; readonly crc: string } {
    if (this.#rest.length > 0) this.#add(this.#rest)
    this.#rest = Buffer.alloc(0)
    if (this.#inBlock > 0) this.#endBlock()
    let bufferBytes = leastBufferBytes
    while (bufferBytes < this.#blocks.length * md5Bytes) bufferBytes *= 2
    const buffer = Buffer.alloc(bufferBytes)
    for (const [index, digest] of this.#blocks.entries()) digest.copy(buffer, index * md5Bytes)
    return { md5: hash('md5', buffer), crc: (this.#whole >>> 0).toString(16).padStart(8, '0') }
  }

  /** Adds bytes that end no later than their block. */
  #add(bytes: Buffer): void {
    const crcs = Buffer.allocUnsafe(4 * Math.ceil(bytes.length / bytesPerCrc))
    for (let at = 0, out = 0; at < bytes.length; at += bytesPerCrc, out += 4)
      crcs.writeUInt32BE(crc32c(bytes.subarray(at, at + bytesPerCrc)) >>> 0, out)
    this.#block.update(crcs)
    this.#inBlock += bytes.length
    if (this.#inBlock === this.#blockBytes) this.#endBlock()
  }

  #endBlock(): void {
    this.#blocks.push(this.#block.digest())
    this.#block = createHash('md5')
    this.#inBlock = 0
  }
}

/** What a cluster answers for the checksum of a file. */
export interface ToldChecksum {
  /** Such as `MD5-of-0MD5-of-512CRC32C`. */
  readonly algorithm: string
  /** Hexadecimal digits, its parameters first. */
  readonly bytes: string
}

/** Hadoop says more bytes than the checksum has: what it was written into is longer. */
export function toldChecksum(json: unknown): ToldChecksum | undefined {
  const told = field(json, 'FileChecksum')
  const [algorithm, all, length] = [field(told, 'algorithm'), field(told, 'bytes'), field(told, 'length')]
  if (typeof algorithm !== 'string' || typeof all !== 'string' || typeof length !== 'number') return undefined
  return { algorithm, bytes: all.slice(0, 2 * length) }
}

/** Whether a checksum that was told is known to be that of the content. */
export function isOfContent(
  { algorithm, bytes }: ToldChecksum,
  { md5, crc }: ReturnType<HdfsChecksum['digests']>,
): boolean {
  if (algorithm === 'COMPOSITE-CRC32C') return bytes.toLowerCase() === crc
  return /^MD5-of-\d+MD5-of-512CRC32C$/.test(algorithm) && bytes.toLowerCase().endsWith(md5)
}

/**
 * The digest of the content that a checksum is, where it is not encrypted; undefined for one of another kind. That of blocks
 * begins with how many bytes, and blocks, each of its digests is of.
 */
export function digestsIn({ algorithm, bytes }: ToldChecksum): Digests | undefined {
  const isOf = (length: number) => bytes.length === 2 * length && /^[\da-f]+$/i.test(bytes)
  const text = () => Buffer.from(bytes, 'hex').toString('base64')
  if (algorithm === 'COMPOSITE-CRC32C' && isOf(crcBytes)) return { crc32c: text() }
  if (/^MD5-of-\d+MD5-of-\d+CRC32C$/.test(algorithm) && isOf(blocksBytes)) return { 'hdfs-crc': text() }
  return undefined
}
