import { createHash } from 'node:crypto'
import type { ReadableKind } from '../contract/digests.ts'
import { crcOf, crcText } from './crc32c.ts'

/** A digest of a content that comes piece by piece. */
export interface RunningDigest {
  update(bytes: Buffer): void
  /** Of all that came; base64. */
  end(): Promise<string>
}

export async function startDigest(kind: ReadableKind): Promise<RunningDigest> {
  if (kind === 'crc32c') {
    let crc = 0
    return { update: (bytes) => (crc = crcOf(bytes, crc)), end: () => Promise.resolve(crcText(crc)) }
  }
  if (kind === 'crc64nvme') {
    // Only where somebody wants it: it takes longer to load than all other digests.
    const { Crc64Nvme } = await import('@aws-sdk/crc64-nvme')
    const crc = new Crc64Nvme()
    return {
      update: (bytes) => crc.update(bytes),
      end: async () => Buffer.from(await crc.digest()).toString('base64'),
    }
  }
  const hash = createHash(kind)
  return { update: (bytes) => hash.update(bytes), end: () => Promise.resolve(hash.digest('base64')) }
}

/** The digest of a content; base64. */
export async function digestOf(
  kind: ReadableKind,
  pieces: Iterable<Buffer> | AsyncIterable<Buffer>,
): Promise<string> {
  const digest = await startDigest(kind)
  for await (const piece of pieces) digest.update(piece)
  return digest.end()
}
