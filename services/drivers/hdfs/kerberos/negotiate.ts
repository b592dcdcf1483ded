import { randomUUID } from 'node:crypto'
import { writeSync } from 'node:fs'
import { type FailureClass, StoreError } from '../../contract/driver.ts'
import { type Handle, kerberosLibraries, type KerberosLibraries } from './libraries.ts'

/** Who a client is to a KDC. */
export interface Credentials {
  /** `user@REALM`, `service/host@REALM`, or without the realm: that of this host. */
  readonly principal: string
  /** Contents of a keytab. */
  readonly keytab: Buffer
}

const objectId = (hex: string) => {
  const elements = Buffer.from(hex, 'hex')
  return { length: elements.length, elements }
}
/** RFC 4178: 1.3.6.1.5.5.2 */
const spnego = objectId('2b0601050502')
/** RFC 1964: 1.2.840.113554.1.2.2 */
const krb5 = objectId('2a864886f712010202')
/** GSS_C_NT_HOSTBASED_SERVICE (1.2.840.113554.1.2.1.4): `service@host`. */
const hostService = objectId('2a864886f71201020104')
/** GSS_KRB5_NT_PRINCIPAL_NAME (1.2.840.113554.1.2.2.1). */
const principalName = objectId('2a864886f71201020201')

const initiating = 1
const forever = 0xffff_ffff
/** The upper 16 bits of a major status are of errors. */
const isFailure = (major: number): boolean => major > 0xffff

/** MFD_CLOEXEC: programs that this process starts do not get it. */
const closeOnExec = 1

/** Minor statuses that say that no KDC answered, as the libraries count them: KRB5_KDC_UNREACH, KRB5_REALM_CANT_RESOLVE. */
const unreachable = new Set([-1_765_328_228, -1_765_328_164].map((code) => code >>> 0))

const fix = 'check kerberosPrincipal and kerberosKeytab, and the clock and krb5.conf of this host'

const failed = (failure: FailureClass, said: string) => new StoreError(failure, `Kerberos: ${said}; ${fix}`)

/** One at a time: each waits in one of the few threads that Node has for such calls. */
let before: Promise<unknown> = Promise.resolve()

/**
 * The token of SPNEGO with which a service of HTTP believes who asks: a ticket for it, in base64. Rejects with a StoreError.
 * @param service `HTTP@host`, or a principal with its realm
 */
export function negotiateToken(credentials: Credentials, service: string): Promise<string> {
  const libraries = kerberosLibraries()
  if (libraries === undefined)
    return Promise.reject(
      new StoreError(
        'unsupported',
        'Kerberos: the libraries are missing on this host; install libgssapi-krb5-2 (krb5-libs on Red Hat), and reinstall Gantry with optional packages if koffi is missing',
      ),
    )
  const token = before.then(() => initiated(libraries, credentials, service))
  before = token.catch(() => undefined)
  return token
}

/** SPNEGO does not say why it has no ticket; the mechanism that it would choose does. */
const initiated = (
  libraries: KerberosLibraries,
  credentials: Credentials,
  service: string,
): Promise<string> =>
  initiatedBy(spnego, libraries, credentials, service).catch((error: unknown) => {
    if (!(error instanceof StoreError)) throw error
    return initiatedBy(krb5, libraries, credentials, service)
  })

async function initiatedBy(
  mechanism: typeof spnego,
  libraries: KerberosLibraries,
  { principal, keytab }: Credentials,
  service: string,
): Promise<string> {
  requireKnownRealm(libraries, principal)
  const cache = `MEMORY:${randomUUID()}`
  const minor: [number] = [0]
  const [client, target, credential, context]: [[Handle], [Handle], [Handle], [Handle]] = [
    [null],
    [null],
    [null],
    [null],
  ]
  // Libraries read keytabs from files: this one has no name, and is on no disk.
  const file = libraries.memoryFile('keytab', closeOnExec)
  if (file < 0) throw failed('io', 'no file in memory can be made for the keytab')
  const require = (major: number, doing: string) => {
    if (isFailure(major)) throw failureOf(libraries, major, minor[0], doing)
  }
  const nameOf = (text: string, type: typeof spnego, into: [Handle]) => {
    const major = libraries.importName(minor, { length: Buffer.byteLength(text), value: text }, type, into)
    require(major, `${text} is no name`)
  }
  try {
    writeSync(file, keytab)
    nameOf(principal, principalName, client)
    nameOf(service, service.includes('/') ? principalName : hostService, target)
    const elements = [
      { key: 'client_keytab', value: `FILE:/proc/self/fd/${file}` },
      { key: 'ccache', value: cache },
    ]
    const acquired = await libraries.acquireCredential(
      minor,
      client[0],
      forever,
      { count: 1, elements: [mechanism] },
      initiating,
      { count: elements.length, elements },
      credential,
      null,
      null,
    )
    require(acquired, `no ticket for ${principal} by the keytab`)
    const token = {}
    const major = await libraries.initiate(
      minor,
      credential[0],
      context,
      target[0],
      mechanism,
      0,
      0,
      null,
      null,
      null,
      token,
      null,
      null,
    )
    const bytes = libraries.take(token)
    require(major, `no ticket of ${principal} for ${service}`)
    return bytes.toString('base64')
  } finally {
    libraries.closeFile(file)
    if (context[0] !== null) libraries.deleteContext(minor, context, null)
    if (credential[0] !== null) libraries.releaseCredential(minor, credential)
    for (const name of [client, target]) if (name[0] !== null) libraries.releaseName(minor, name)
    destroyCache(libraries, cache)
  }
}

/** The tickets of a cache in memory stay in the process otherwise. */
function destroyCache(libraries: KerberosLibraries, name: string): void {
  withContext(libraries, (context) => {
    const cache: [Handle] = [null]
    if (libraries.resolveCache(context, name, cache) === 0) libraries.destroyCache(context, cache[0])
  })
}

/**
 * Keeps requests to where administrators of this host want them: KDCs of realms that its krb5.conf does not name would be
 * looked for by name servers of whoever owns the domain. Throws a StoreError.
 */
function requireKnownRealm(libraries: KerberosLibraries, principal: string): void {
  const [, realm] = principal.split('@')
  withContext(libraries, (context) => {
    const profile: [Handle] = [null]
    if (libraries.getProfile(context, profile) !== 0) throw failed('io', 'krb5.conf cannot be read')
    try {
      const first = (...names: string[]): string | undefined => {
        const values: [Handle] = [null]
        if (libraries.profileValues(profile[0], [...names, null], values) !== 0) return undefined
        const value = libraries.firstValue(values[0])
        libraries.freeProfileValues(values[0])
        return value
      }
      const usual = first('libdefaults', 'default_realm')
      if (realm === undefined && usual === undefined)
        throw failed('refused', `${principal} has no realm, and krb5.conf of this host no default_realm`)
      if (realm === undefined || realm === usual || first('realms', realm, 'kdc') !== undefined) return
      throw failed(
        'refused',
        `krb5.conf of this host names no kdc of ${realm}, and it is not its default_realm`,
      )
    } finally {
      libraries.releaseProfile(profile[0])
    }
  })
}

function withContext(libraries: KerberosLibraries, work: (context: Handle) => void): void {
  const context: [Handle] = [null]
  if (libraries.initContext(context) !== 0) throw failed('io', 'krb5.conf of this host cannot be read')
  try {
    work(context[0])
  } finally {
    libraries.freeContext(context[0])
  }
}

/** Status codes in words, as RFC 2744 has them: of GSS-API and of the mechanism. */
const ofGss = 1
const ofMechanism = 2

function failureOf(libraries: KerberosLibraries, major: number, minor: number, doing: string): StoreError {
  const words = (status: number, kind: number): string => {
    const text = {}
    const isSaid = !isFailure(libraries.displayStatus([0], status, kind, krb5, [0], text))
    return isSaid ? libraries.take(text).toString() : ''
  }
  const said = words(minor, ofMechanism) || words(major, ofGss)
  return failed(unreachable.has(minor) ? 'unreachable' : 'refused', `${doing}: ${said}`)
}
