import { generateKeyPairSync } from 'node:crypto'
import { readFileSync } from 'node:fs'
import forge from 'node-forge'
import { expect, test } from 'vitest'
import { GcsDriver } from '../../../../services/drivers/gcs/gcs.ts'
import { gcsIneffectiveProperties, gcsProperties } from '../../../../subjects/filesystems/gcs-properties.ts'
import type { FilesystemOptions } from '../../../../subjects/filesystems/kinds.ts'

const pem = (kind: 'rsa' | 'ed25519') =>
  (kind === 'rsa'
    ? generateKeyPairSync('rsa', { modulusLength: 2048 })
    : generateKeyPairSync('ed25519')
  ).privateKey
    .export({ format: 'pem', type: 'pkcs8' })
    .toString()
const privateKey = pem('rsa')
const clientEmail = 'mover@project.iam.gserviceaccount.com'
const keys = { privateKey, clientEmail }
/** As the console gives it out; OpenSSL makes no such file without its old ciphers. */
const p12 = (password: string) => {
  const key = forge.pki.privateKeyFromPem(privateKey)
  const certificate = forge.pki.createCertificate()
  certificate.publicKey = forge.pki.rsa.setPublicKey(key.n, key.e)
  certificate.sign(key)
  const asn1 = forge.pkcs12.toPkcs12Asn1(key, certificate, password, { algorithm: '3des' })
  return Buffer.from(forge.asn1.toDer(asn1).getBytes(), 'latin1').toString('base64')
}
const jsonKey = (members: object) =>
  JSON.stringify({ type: 'service_account', private_key: privateKey, client_email: clientEmail, ...members })
const opening = (options: Partial<FilesystemOptions<'gcs'>>) => () =>
  new GcsDriver({ bucketName: 'data', ...options })
const property = (name: string, value: string) => ({ ...keys, additionalProperties: { [name]: value } })
const customerKey = Buffer.alloc(32, 1).toString('base64')
const kmsKey = 'projects/p/locations/l/keyRings/r/cryptoKeys/k'

test.each<[string, Partial<FilesystemOptions<'gcs'>>, RegExp]>([
  ['nothing', {}, /privateKey is missing: give jsonKey/],
  ['no address', { privateKey }, /clientEmail is missing/],
  ['no key', { privateKey: 'top/secret', clientEmail }, /privateKey has no private key in PEM/],
  ['another kind of key', { privateKey: pem('ed25519'), clientEmail }, /is not RSA/],
  ['no JSON', { jsonKey: 'top/secret' }, /jsonKey is not JSON/],
  ['the key of a user', { jsonKey: jsonKey({ type: 'authorized_user' }) }, /not the key file of a service/],
  ['JSON without a key', { jsonKey: jsonKey({ private_key: 1 }) }, /jsonKey is missing/],
  ['both', { jsonKey: jsonKey({}), privateKey }, /jsonKey is given besides privateKey/],
  ['two files', { jsonKey: jsonKey({}), p12Key: p12('notasecret') }, /jsonKey is given besides p12Key/],
  ['no P12', { p12Key: 'top/secret', clientEmail }, /p12Key has no private key/],
  ['a P12 with a password of its own', { p12Key: p12('own'), clientEmail }, /p12Key has no private key/],
  ['a P12 without an address', { p12Key: p12('notasecret') }, /clientEmail is missing/],
  ['a key for nobody', property('fs.gs.auth.type', 'UNAUTHENTICATED'), /privateKey is for a service account/],
  [
    'a key of a machine',
    property('fs.gs.auth.type', 'COMPUTE_ENGINE'),
    /privateKey is for a service account/,
  ],
  ['another way', property('fs.gs.auth.type', 'USER_CREDENTIALS'), /must be one of SERVICE_ACCOUNT/],
  ['an unknown property', property('fs.gs.secret', 'top/secret'), /fs\.gs\.secret is not honoured/],
  ['a size', property('fs.gs.outputstream.upload.chunk.size', '1'), /chunk\.size must be .* from 1048576/],
  ['two keys', { ...property('gantry.gcs.kms.key', kmsKey), customerKey }, /customerKey is given besides/],
])('%s is refused, and no secret is repeated', (_name, options, message) => {
  expect(opening(options)).toThrow(message)
  expect(opening(options)).not.toThrow(/top\/secret|PRIVATE KEY/)
})

test('keys are taken as they are in key files', async () => {
  await opening({ jsonKey: jsonKey({ private_key_id: 'x' }) })().close()
  await opening({ p12Key: p12('notasecret'), clientEmail })().close()
  await opening({ ...keys, privateKey: privateKey.replaceAll('\n', '\\n') })().close()
  await opening({ additionalProperties: { 'fs.gs.auth.type': 'unauthenticated' } })().close()
})

test('what people have in their configuration and has no effect is taken', async () => {
  for (const name of gcsIneffectiveProperties) await opening(property(name, 'x'))().close()
})

test('a file of 5 TiB fits into the parts that are joined in two rounds, and one more byte is refused', async () => {
  const driver = opening(keys)()
  for (const sizeBytes of [1, 2 ** 34, 2 ** 40, 5 * 2 ** 40]) {
    const partBytes = driver.capabilities.parts.sizeFor(sizeBytes)
    expect(Math.ceil(sizeBytes / partBytes)).toBeLessThanOrEqual(32 * 32)
    expect(driver.refuses(Buffer.from('big'), { type: 'file', sizeBytes })).toBeUndefined()
  }
  expect(driver.refuses(Buffer.from('big'), { type: 'file', sizeBytes: 5 * 2 ** 40 + 1 })).toMatch(/5 TiB/)
  await driver.close()
})

test.each([
  ['x'.repeat(1_024), /1024 bytes/],
  ['a\nb', /line feed/],
  ['a\rb', /carriage return/],
  [Buffer.from([0x61, 0xff]), /not UTF-8/],
  ['.well-known/acme-challenge/x', /not taken/],
])('names are refused for what is wrong with them (%#)', async (name, reason) => {
  const driver = opening(keys)()
  expect(driver.refuses(Buffer.from(name), { type: 'file', sizeBytes: 1 })).toMatch(reason)
  await driver.close()
})

test('the documentation has each property', () => {
  const text = readFileSync(new URL('../../../../docs/GCS.md', import.meta.url), 'utf8')
  for (const name of [...Object.keys(gcsProperties), ...gcsIneffectiveProperties])
    expect(text).toContain(`\`${name}\``)
})
