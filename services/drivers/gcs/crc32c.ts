import { crc32c } from '@node-rs/crc32'

/** A CRC-32C as the service has it: base64 of four bytes, the most significant first. */
export function crcText(crc: number): string {
  const bytes = Buffer.allocUnsafe(4)
  bytes.writeUInt32BE(crc >>> 0)
  return bytes.toString('base64')
}

export const crcOf = (bytes: Buffer, before = 0): number => crc32c(bytes, before)

/** A CRC-32C from its text; undefined where it is none. */
export const readCrc = (text: string): number | undefined =>
  /^[A-Za-z0-9+/]{6}==$/.test(text) ? Buffer.from(text, 'base64').readUInt32BE() : undefined

/** Reflected polynomial of CRC-32C (RFC 3720, appendix B.4). */
const polynomial = 0x82f63b78

/** A linear map of 32 bits, as what it makes of each of them. */
type Matrix = Uint32Array

function times(matrix: Matrix, vector: number): number {
  let sum = 0
  for (let bit = 0, rest = vector; rest !== 0; bit++, rest >>>= 1) if (rest & 1) sum ^= matrix[bit] ?? 0
  return sum >>> 0
}

const squared = (matrix: Matrix): Matrix => matrix.map((column) => times(matrix, column))

/** What a byte of 0 makes of a CRC: eight shifts of the register. */
const zeroByte: Matrix = squared(
  squared(squared(Uint32Array.from({ length: 32 }, (_, bit) => (bit === 0 ? polynomial : 2 ** (bit - 1))))),
)

/** The CRC of one content after another, of the CRCs of both and the length of the second in bytes. */
export function joinedCrc(first: number, second: number, secondBytes: number): number {
  let crc = first >>> 0
  let zeros = zeroByte
  for (let rest = secondBytes; rest > 0; rest = Math.floor(rest / 2)) {
    if (rest % 2 === 1) crc = times(zeros, crc)
    zeros = squared(zeros)
  }
  return (crc ^ second) >>> 0
}
