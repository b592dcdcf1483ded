import { createCurve } from '@nats-io/nkeys'

/** Seals bytes for one recipient alone (NATS XKeys: X25519, XSalsa20 and Poly1305), with a key pair of this process. */
export interface SealedBox {
  readonly publicKey: string
  /** In base64. */
  seal(bytes: Uint8Array, recipient: string): string
  /** @throws when it was sealed for somebody else, by somebody else, or changed */
  open(sealed: string, sender: string): Uint8Array
}

export function createSealedBox(): SealedBox {
  const key = createCurve()
  return {
    publicKey: key.getPublicKey(),
    seal: (bytes, recipient) => Buffer.from(key.seal(bytes, recipient)).toString('base64'),
    open: (sealed, sender) => {
      const bytes = key.open(Buffer.from(sealed, 'base64'), sender)
      if (bytes === null) throw new Error('the encrypted value cannot be decrypted')
      return bytes
    },
  }
}
