import { createPrivateKey, createPublicKey, type KeyObject, randomBytes, sign, verify } from 'node:crypto'
import { type KeyPair, Prefix } from '@nats-io/nkeys'
import { Codec } from '@nats-io/nkeys/lib/codec.js'

/**
 * Ed25519 with Node's own crypto behind the nkeys interface: the pure-JavaScript keys of that package take 5 to 9 ms an
 * operation and derive the public key again each time, which is most of a connect.
 */

// The ASN.1 wrapping of a raw Ed25519 key: PKCS #8 and SubjectPublicKeyInfo, RFC 8410.
const pkcs8Header = Buffer.from('302e020100300506032b657004220420', 'hex')
const spkiHeader = Buffer.from('302a300506032b6570032100', 'hex')

const text = new TextDecoder()
const bytes = new TextEncoder()

/** Roles of keys, by the first letter of their public form. */
export type KeyRole = 'O' | 'A' | 'U'
const prefixes: Record<KeyRole, Prefix> = { O: Prefix.Operator, A: Prefix.Account, U: Prefix.User }

export class NativeKeyPair implements KeyPair {
  readonly #seed: string
  readonly #private: KeyObject
  readonly #public: KeyObject
  readonly #publicKey: string

  /** @throws when the seed is not one of an nkey: wrong alphabet, checksum, length or prefix, or not its usual form. */
  constructor(seed: string) {
    const { buf, prefix } = Codec.decodeSeed(bytes.encode(seed))
    // 58 characters hold two bits more than a seed has, and other keys are derived from the text: it must be the only one.
    if (text.decode(Codec.encodeSeed(prefix, buf)) !== seed) throw new Error('not a valid seed')
    this.#seed = seed
    this.#private = createPrivateKey({ key: Buffer.concat([pkcs8Header, buf]), format: 'der', type: 'pkcs8' })
    this.#public = createPublicKey(this.#private)
    const raw = this.#public.export({ format: 'der', type: 'spki' }).subarray(spkiHeader.length)
    this.#publicKey = text.decode(Codec.encode(prefix, new Uint8Array(raw)))
  }

  getPublicKey(): string {
    return this.#publicKey
  }

  /** There is no use for the raw key outside; the JWT package only asks whether there is one. */
  getPrivateKey(): Uint8Array {
    return this.getSeed()
  }

  getSeed(): Uint8Array {
    return bytes.encode(this.#seed)
  }

  get seed(): string {
    return this.#seed
  }

  sign(input: Uint8Array): Uint8Array {
    return sign(null, input, this.#private)
  }

  verify(input: Uint8Array, signature: Uint8Array): boolean {
    return verify(null, input, this.#public, signature)
  }

  clear(): void {
    throw new Error('a platform key lives as long as its process')
  }

  seal(): Uint8Array {
    throw new Error('a signing key does not encrypt')
  }

  open(): Uint8Array {
    throw new Error('a signing key does not encrypt')
  }
}

/** A new key from the system's randomness. */
export const createKey = (role: KeyRole): NativeKeyPair => keyFromEntropy(role, randomBytes(32))

/** The key made from 32 bytes of secret entropy. */
export const keyFromEntropy = (role: KeyRole, entropy: Uint8Array): NativeKeyPair =>
  new NativeKeyPair(text.decode(Codec.encodeSeed(prefixes[role], new Uint8Array(entropy))))

/** Whether the signature over `input` is that of the key with this public form. */
export function verifySignature(publicKey: string, input: Uint8Array, signature: Uint8Array): boolean {
  const role = publicKey[0] as KeyRole
  if (!(role in prefixes)) return false
  const raw = Codec.decode(prefixes[role], bytes.encode(publicKey))
  const key = createPublicKey({ key: Buffer.concat([spkiHeader, raw]), format: 'der', type: 'spki' })
  return verify(null, input, key, signature)
}
