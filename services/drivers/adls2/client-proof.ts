import { createPrivateKey, randomUUID, X509Certificate } from 'node:crypto'
import { SignJWT } from 'jose'
import type { FilesystemOptions } from '../../../subjects/filesystems/kinds.ts'
import { notAccepted } from '../../../subjects/kit/errors.ts'
import { type P12, readP12 } from '../keys/p12.ts'
import { requireFewRounds } from '../keys/rounds.ts'

type Options = FilesystemOptions<'adls2-oauth2'>

/** Of whom it is known who he is, and where he proves it. */
type Principal = Options & Required<Pick<Options, 'oauthClientId' | 'oauthClientEndpoint'>>

/** An assertion goes out at once, and is good for no longer than Microsoft advises. */
const assertionSeconds = 600

/** RFC 7523, section 2.2. */
const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

/** Fields of the form by which a service principal proves who it is, made for each request. */
export type Proof = () => Promise<Record<string, string>>

/**
 * By a secret, or by an assertion that the key of a certificate signs ("Application authentication certificate credentials"
 * of the Microsoft identity platform). Throws GantryError NOT_ACCEPTED that names what is missing or cannot be read.
 */
export function proofOf(options: Principal): Proof {
  const { oauthClientSecret: secret, oauthClientCertificate: certificate } = options
  if (secret !== undefined && certificate !== undefined)
    throw notAccepted('oauthClientSecret', 'is given besides oauthClientCertificate: leave one of them out')
  if (secret !== undefined) return async () => ({ client_secret: secret })
  if (certificate === undefined)
    throw notAccepted('oauthClientSecret', 'is missing: give it, or oauthClientCertificate')
  return assertionOf(options, certificate)
}

function assertionOf(options: Principal, text: string): Proof {
  const { key, thumbprint } = credentialOf(text, options.oauthClientCertificatePassword)
  const { oauthClientId: id, oauthClientEndpoint: audience } = options
  return async () => {
    const now = Math.floor(Date.now() / 1_000)
    const assertion = await new SignJWT()
      .setProtectedHeader({ alg: 'PS256', typ: 'JWT', 'x5t#S256': thumbprint })
      .setIssuer(id)
      .setSubject(id)
      .setAudience(audience)
      .setJti(randomUUID())
      .setIssuedAt(now)
      .setNotBefore(now)
      .setExpirationTime(now + assertionSeconds)
      .sign(key)
    return { client_assertion_type: assertionType, client_assertion: assertion }
  }
}

const field = 'oauthClientCertificate'

/** Private key and certificate, of a text in PEM or of a P12 file in base64. */
function credentialOf(text: string, password: string | undefined) {
  const { privateKey, certificate } = text.includes('-----BEGIN')
    ? partsOfPem(text)
    : partsOfP12(text, password)
  if (privateKey === undefined)
    throw notAccepted(field, 'has no private key: give it with that of the certificate')
  if (certificate === undefined) throw notAccepted(field, 'has no certificate: give it with that of the key')
  const [key, its] = [readKey(privateKey, password), readCertificate(certificate)]
  if (key.asymmetricKeyType !== 'rsa') throw notAccepted(field, 'has a private key that is not RSA')
  if (!its.checkPrivateKey(key))
    throw notAccepted(field, 'has a private key that is not that of the certificate')
  const thumbprint = Buffer.from(its.fingerprint256.replaceAll(':', ''), 'hex').toString('base64url')
  return { key, thumbprint }
}

/** The first key, and the first certificate, which is that of the key where others follow. */
function partsOfPem(text: string): P12 {
  const lines = text.replaceAll('\\n', '\n')
  const part = (name: string) =>
    new RegExp(`-----BEGIN ${name}-----[^-]+-----END ${name}-----`).exec(lines)?.[0]
  const privateKey = part('(?:RSA |ENCRYPTED )?PRIVATE KEY')
  const certificate = part('CERTIFICATE')
  return {
    ...(privateKey !== undefined && { privateKey }),
    ...(certificate !== undefined && { certificate }),
  }
}

function partsOfP12(base64: string, password = ''): P12 {
  try {
    return readP12(base64, password)
  } catch {
    throw notAccepted(
      field,
      'is neither PEM nor a P12 file in base64, or oauthClientCertificatePassword is not its password',
    )
  }
}

function readKey(pem: string, passphrase: string | undefined) {
  try {
    const [, locked] = /-----BEGIN ENCRYPTED PRIVATE KEY-----([^-]+)-/.exec(pem) ?? []
    if (locked !== undefined) requireFewRounds(Buffer.from(locked, 'base64'))
    return createPrivateKey({ key: pem, ...(passphrase !== undefined && { passphrase }) })
  } catch {
    throw notAccepted(
      field,
      'has a private key that cannot be read; if it is encrypted, give oauthClientCertificatePassword',
    )
  }
}

function readCertificate(pem: string): X509Certificate {
  try {
    return new X509Certificate(pem)
  } catch {
    throw notAccepted(field, 'has a certificate that cannot be read')
  }
}
