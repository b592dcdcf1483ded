import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import forge from 'node-forge'
import { requireFewRounds } from './rounds.ts'

/** What is in a P12 file, as PEM; what is not in it is undefined. */
export interface P12 {
  readonly privateKey?: string
  /** That of the key, where the file has several. */
  readonly certificate?: string
}

/** Of the files of filesystems that are opened again and again: each takes work that is made to be slow. */
const maxKnown = 100
const known = new LRUCache<string, P12>({ max: maxKnown })

/**
 * Reads a P12 file in base64, also with ciphers that are older than what OpenSSL 3 reads. Throws for a wrong password, and for
 * what is no such file, or asks for too much work.
 */
export function readP12(base64: string, password: string): P12 {
  const key = hash('sha256', JSON.stringify([base64, password]))
  const its = known.get(key) ?? parsed(base64, password)
  known.set(key, its)
  return its
}

function parsed(base64: string, password: string): P12 {
  const der = Buffer.from(base64, 'base64')
  requireFewRounds(der)
  const asn1 = forge.asn1.fromDer(der.toString('latin1'))
  const file = forge.pkcs12.pkcs12FromAsn1(asn1, password)
  const bagsOf = (name: string) => {
    const bagType = forge.pki.oids[name]!
    return file.getBags({ bagType })[bagType] ?? []
  }
  const keys = [...bagsOf('pkcs8ShroudedKeyBag'), ...bagsOf('keyBag')].flatMap(({ key }) => key ?? [])
  const certificates = bagsOf('certBag').flatMap(({ cert }) => cert ?? [])
  const [key] = keys
  const its = (certificate: forge.pki.Certificate) => {
    const { publicKey } = certificate
    return key !== undefined && 'n' in publicKey && publicKey.n.equals(key.n)
  }
  const certificate = certificates.find(its) ?? certificates[0]
  return {
    ...(key !== undefined && { privateKey: forge.pki.privateKeyToPem(key) }),
    ...(certificate !== undefined && { certificate: forge.pki.certificateToPem(certificate) }),
  }
}
