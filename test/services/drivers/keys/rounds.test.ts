import { generateKeyPairSync } from 'node:crypto'
import forge from 'node-forge'
import { expect, test } from 'vitest'
import { proofOf } from '../../../../services/drivers/adls2/client-proof.ts'
import { readP12 } from '../../../../services/drivers/keys/p12.ts'
import { requireFewRounds } from '../../../../services/drivers/keys/rounds.ts'

/** The same with another number of rounds, whatever it is that they are for. */
function withRounds(der: Buffer, rounds: number): Buffer {
  const changed = (asn1: forge.asn1.Asn1): forge.asn1.Asn1 => {
    const { value } = asn1
    if (typeof value === 'string') return asn1
    for (const [index, part] of value.entries())
      if (part.type === forge.asn1.Type.INTEGER && value[index - 1]?.type === forge.asn1.Type.OCTETSTRING)
        part.value = forge.asn1.integerToDer(rounds).getBytes()
      else changed(part)
    return asn1
  }
  const asn1 = changed(forge.asn1.fromDer(der.toString('latin1')))
  return Buffer.from(forge.asn1.toDer(asn1).getBytes(), 'latin1')
}

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const locked = privateKey.export({
  type: 'pkcs8',
  format: 'der',
  cipher: 'aes-256-cbc',
  passphrase: 'secret',
})

function makeP12(): Buffer {
  const key = forge.pki.privateKeyFromPem(privateKey.export({ type: 'pkcs1', format: 'pem' }).toString())
  const certificate = forge.pki.createCertificate()
  certificate.publicKey = forge.pki.setRsaPublicKey(key.n, key.e)
  certificate.sign(key)
  const asn1 = forge.pkcs12.toPkcs12Asn1(key, [certificate], 'secret')
  return Buffer.from(forge.asn1.toDer(asn1).getBytes(), 'latin1')
}
const p12 = makeP12()

test('keys and P12 files as they are made ask for few rounds', () => {
  for (const der of [locked, withRounds(locked, 1_000_000), p12, withRounds(p12, 400_000)])
    requireFewRounds(der)
  expect(readP12(p12.toString('base64'), 'secret').privateKey).toContain('PRIVATE KEY')
})

test('a P12 file is read once, however often a filesystem is opened, and not with another password', () => {
  const base64 = p12.toString('base64')
  expect(readP12(base64, 'secret')).toBe(readP12(base64, 'secret'))
  expect(() => readP12(base64, 'another')).toThrow('password')
})

test('a P12 file that asks for a thousand million rounds is refused at once', () => {
  const der = withRounds(p12, 1_000_000_000)
  expect(() => readP12(der.toString('base64'), 'secret')).toThrow('rounds')
})

test('the rounds of all keys in a file count together', () => {
  const { asn1 } = forge
  const one = asn1.fromDer(withRounds(locked, 1_000_000).toString('latin1'))
  const both = asn1.create(asn1.Class.UNIVERSAL, asn1.Type.SEQUENCE, true, [one, one])
  const der = Buffer.from(asn1.toDer(both).getBytes(), 'latin1')
  expect(() => requireFewRounds(der)).toThrow('rounds')
})

test('a locked key that asks for too many rounds is refused before any of them is made', () => {
  const base64 = withRounds(locked, 30_000_000).toString('base64')
  const oauthClientCertificate = `-----BEGIN ENCRYPTED PRIVATE KEY-----\n${base64}\n-----END ENCRYPTED PRIVATE KEY-----\n-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----`
  const began = performance.now()
  expect(() =>
    proofOf({
      accountName: 'lake',
      containerName: 'data',
      oauthClientId: 'mover',
      oauthClientEndpoint: 'https://login.example/token',
      oauthClientCertificate,
      oauthClientCertificatePassword: 'secret',
    }),
  ).toThrow(/private key that cannot be read/)
  expect(performance.now() - began).toBeLessThan(2_000)
})
