import { crc32c } from '@node-rs/crc32'

/** A CRC-32C as services have it: base64 of four bytes, the most significant first. */
export function crcText(crc: number): string {
  const bytes = Buffer.allocUnsafe(4)
  bytes.writeUInt32BE(crc >>> 0)
  return bytes.toString('base64')
}

export const crcOf = (bytes: Buffer, before = 0): number => crc32c(bytes, before)
