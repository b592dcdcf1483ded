import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import type { Identity } from './identity.ts'

/** Encrypts secrets for storage with a key of the platform's identity (AES-256-GCM). */
export interface Sealer {
  seal(secret: string): string
  /** @throws when it was sealed by another instance or changed. */
  open(sealed: string): string
}

const algorithm = 'aes-256-gcm'
/** The size that GCM is defined for without further hashing. */
const nonceBytes = 12
const tagBytes = 16

/** @param purpose what was sealed for another one does not open */
export function createSealer(identity: Pick<Identity, 'derive'>, purpose = 'seal'): Sealer {
  const key = identity.derive(purpose)
  return {
    seal(secret) {
      const nonce = randomBytes(nonceBytes)
      const cipher = createCipheriv(algorithm, key, nonce, { authTagLength: tagBytes })
      const text = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()])
      return Buffer.concat([nonce, cipher.getAuthTag(), text]).toString('base64')
    },
    open(sealed) {
      const bytes = Buffer.from(sealed, 'base64')
      const nonce = bytes.subarray(0, nonceBytes)
      const decipher = createDecipheriv(algorithm, key, nonce, { authTagLength: tagBytes })
      decipher.setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes))
      return Buffer.concat([
        decipher.update(bytes.subarray(nonceBytes + tagBytes)),
        decipher.final(),
      ]).toString('utf8')
    },
  }
}
