import { createPrivateKey, type KeyObject } from 'node:crypto'
import { SignJWT } from 'jose'
import type { FilesystemOptions } from '../../../subjects/filesystems/kinds.ts'
import { notAccepted } from '../../../subjects/kit/errors.ts'
import type { StoreBounds } from '../contract/bounds.ts'
import type { Recipient } from '../host-credentials/permission.ts'
import { federatedByFile, federatedByKey } from './federation.ts'
import { machineCredentials } from './machine.ts'
import { type Credentials, scopeOf, type TokenSource } from './tokens.ts'
import { readP12 } from '../keys/p12.ts'

/** The longest that the service takes. */
const tokenSeconds = 3_600
/** A token is not used in its last minutes: requests take time, and clocks differ. */
const spareSeconds = 300

interface ServiceAccount {
  readonly email: string
  readonly key: KeyObject
  readonly keyId: string | undefined
}

/**
 * The tokens of a service account: made here and signed with its key, so that no other service is asked (Google's AIP-4111,
 * "Self-signed JWTs").
 */
class Tokens implements TokenSource {
  readonly #account: ServiceAccount
  readonly #scope: string
  #token:
    { readonly text: Promise<string>; readonly fromSeconds: number; readonly toSeconds: number } | undefined

  constructor(account: ServiceAccount, scope: string) {
    this.#account = account
    this.#scope = scope
  }

  get(nowMs: number): Promise<string> {
    const now = Math.floor(nowMs / 1_000)
    const known = this.#token
    if (known !== undefined && now >= known.fromSeconds && now < known.toSeconds - spareSeconds)
      return known.text
    const { email, key, keyId } = this.#account
    const text = new SignJWT({ scope: this.#scope })
      .setProtectedHeader({ alg: 'RS256', typ: 'JWT', ...(keyId !== undefined && { kid: keyId }) })
      .setIssuer(email)
      .setSubject(email)
      .setIssuedAt(now)
      .setExpirationTime(now + tokenSeconds)
      .sign(key)
    this.#token = { text, fromSeconds: now, toSeconds: now + tokenSeconds }
    return text
  }

  forget(): void {
    this.#token = undefined
  }
}

type Options = FilesystemOptions<'gcs'>

/**
 * @param recipients whom tokens are sent to
 * @throws GantryError NOT_ACCEPTED that names what is missing, or goes not together
 */
export function credentialsOf(
  options: Options,
  { authType, configFile }: { readonly authType: string; readonly configFile: string },
  recipients: readonly Recipient[],
  bounds: StoreBounds | undefined,
): Credentials {
  const { jsonKey } = options
  const access = { scope: scopeOf(options), recipients }
  const isFederation = authType === 'WORKLOAD_IDENTITY_FEDERATION_CREDENTIAL_CONFIG_FILE'
  const given = (['p12Key', 'privateKey', 'privateKeyId', 'clientEmail', 'jsonKey'] as const).find(
    (name) => options[name] !== undefined && !(isFederation && name === 'jsonKey'),
  )
  if (configFile !== '' && (!isFederation || jsonKey !== undefined))
    throw notAccepted(
      'additionalProperties.fs.gs.auth.workload.identity.federation.credential.config.file',
      'is for fs.gs.auth.type WORKLOAD_IDENTITY_FEDERATION_CREDENTIAL_CONFIG_FILE without jsonKey: leave it out',
    )
  if (authType !== 'SERVICE_ACCOUNT_JSON_KEYFILE' && given !== undefined)
    throw notAccepted(given, 'is for a service account: leave it out, or fs.gs.auth.type')
  if (authType === 'UNAUTHENTICATED') return { tokens: undefined }
  if (authType === 'COMPUTE_ENGINE') return machineCredentials(access, bounds)
  const json = jsonKey === undefined ? undefined : readJson(jsonKey)
  if (json !== undefined && (isFederation || json['type'] === 'external_account'))
    return federatedByKey(json, access, bounds)
  return isFederation
    ? federatedByFile(configFile, access, bounds)
    : { tokens: new Tokens(serviceAccountOf(options, json), access.scope) }
}

/** The service account whose key is given. */
function serviceAccountOf(
  options: Options,
  json: Readonly<Record<string, unknown>> | undefined,
): ServiceAccount {
  const has = (name: keyof Options) => options[name] !== undefined
  const [one, another] = (['jsonKey', 'p12Key', 'privateKey'] as const).filter(has)
  if (one !== undefined && another !== undefined)
    throw notAccepted(one, `is given besides ${another}: leave one of them out`)
  const { p12Key } = options
  if (json !== undefined) return accountOf(readJsonKey(json), { key: 'jsonKey', email: 'jsonKey' })
  if (p12Key === undefined) return accountOf(options, { key: 'privateKey', email: 'clientEmail' })
  const key = { ...options, privateKey: readP12Key(p12Key) }
  return accountOf(key, { key: 'p12Key', email: 'clientEmail' })
}

type Key = Pick<Options, 'privateKey' | 'privateKeyId' | 'clientEmail'>

function readJson(text: string): Readonly<Record<string, unknown>> {
  try {
    return (JSON.parse(text) as Readonly<Record<string, unknown>> | null) ?? {}
  } catch {
    throw notAccepted('jsonKey', 'is not JSON: give the contents of the key file')
  }
}

/** The file that the console gives out for a key. */
function readJsonKey(json: Readonly<Record<string, unknown>>): Key {
  const member = (name: string): string | undefined => {
    const value = json[name]
    return typeof value === 'string' ? value : undefined
  }
  const type = member('type')
  if (type !== 'service_account')
    throw notAccepted('jsonKey', 'is not the key file of a service account: its type is another one')
  const [privateKey, privateKeyId, clientEmail] = [
    member('private_key'),
    member('private_key_id'),
    member('client_email'),
  ]
  return {
    ...(privateKey !== undefined && { privateKey }),
    ...(privateKeyId !== undefined && { privateKeyId }),
    ...(clientEmail !== undefined && { clientEmail }),
  }
}

/** The console gives all of them the same one. */
const p12Password = 'notasecret'

/** The private key in a P12 file, as PEM. */
function readP12Key(base64: string): string {
  let privateKey: string | undefined
  try {
    privateKey = readP12(base64, p12Password).privateKey
  } catch {
    // It is told below.
  }
  if (privateKey !== undefined) return privateKey
  throw notAccepted(
    'p12Key',
    `has no private key: give a P12 file in base64, with the password ${p12Password}`,
  )
}

function accountOf(
  { privateKey, privateKeyId, clientEmail }: Key,
  fields: { readonly key: string; readonly email: string },
): ServiceAccount {
  if (privateKey === undefined)
    throw notAccepted(
      fields.key,
      'is missing: give jsonKey, or privateKey (or p12Key) and clientEmail; for a public bucket fs.gs.auth.type UNAUTHENTICATED',
    )
  if (clientEmail === undefined)
    throw notAccepted(fields.email, 'is missing: the email address of the service account')
  return { email: clientEmail, key: rsaKey(privateKey, fields.key), keyId: privateKeyId }
}

/** Line feeds may be written as in the JSON of a key file. */
function rsaKey(text: string, field: string): KeyObject {
  let key: KeyObject
  try {
    key = createPrivateKey(text.replaceAll('\\n', '\n'))
  } catch {
    throw notAccepted(field, 'has no private key in PEM (PKCS #8, without a passphrase)')
  }
  if (key.asymmetricKeyType !== 'rsa') throw notAccepted(field, 'has a private key that is not RSA')
  return key
}
