import { randomUUID } from 'node:crypto'
import { writeSync } from 'node:fs'
import { type FailureClass, StoreError } from '../contract/store-error.ts'
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

export const mechanisms = { spnego, krb5 } as const

const initiating = 1
const forever = 0xffff_ffff
/** The upper 16 bits of a major status are of errors. */
const isFailure = (major: number): boolean => major > 0xffff
/** GSS_S_CONTINUE_NEEDED: the service has to say something yet. */
const continues = 1
/** Of a ticket that does not say when it ends. */
const indefinite = 0xffff_ffff

/** What is asked of a context, and what it has: each a bit. */
export const contextFlags = { mutual: 2, replay: 4, sequence: 8, confidential: 16, integrity: 32 } as const

/** Minor statuses that say that no KDC answered, as the libraries count them: KRB5_KDC_UNREACH, KRB5_REALM_CANT_RESOLVE. */
const unreachable = new Set([-1_765_328_228, -1_765_328_164].map((code) => code >>> 0))

const fix = 'check kerberosPrincipal and kerberosKeytab, and the clock and krb5.conf of this host'

const failed = (failure: FailureClass, said: string) => new StoreError(failure, `Kerberos: ${said}; ${fix}`)

/** One at a time: each waits in one of the few threads that Node has for such calls. */
let before: Promise<unknown> = Promise.resolve()

function inTurn<T>(work: () => Promise<T>): Promise<T> {
  const done = before.then(work)
  before = done.catch(() => undefined)
  return done
}

export interface Asked {
  /** `service@host`, or a principal with its realm. */
  readonly service: string
  readonly mechanism: (typeof mechanisms)[keyof typeof mechanisms]
  /** Bits of `contextFlags`. */
  readonly flags: number
}

/** What a client and a service of Kerberos have in common, once both know who the other is. Rejects with a StoreError. */
export class SecurityContext implements Disposable {
  readonly #libraries: KerberosLibraries
  readonly #credentials: Credentials
  readonly #asked: Asked
  readonly #cache = `MEMORY:${randomUUID()}`
  readonly #minor: [number] = [0]
  readonly #target: [Handle] = [null]
  readonly #credential: [Handle] = [null]
  readonly #context: [Handle] = [null]
  #flags = 0
  #endsAt = Infinity
  #isEstablished = false
  /** Calls to the libraries in other threads that use what is to be given back. */
  #isBusy = false
  #isClosed = false

  private constructor(libraries: KerberosLibraries, credentials: Credentials, asked: Asked) {
    this.#libraries = libraries
    this.#credentials = credentials
    this.#asked = asked
  }

  /** With a ticket of a client for a service, which is got now. */
  static async open(credentials: Credentials, asked: Asked): Promise<[SecurityContext, first: Buffer]> {
    const libraries = kerberosLibraries()
    if (libraries === undefined)
      throw new StoreError(
        'unsupported',
        'Kerberos: the libraries are missing on this host; install libgssapi-krb5-2 (krb5-libs on Red Hat), and reinstall Gantry with optional packages if koffi is missing',
      )
    const context = new SecurityContext(libraries, credentials, asked)
    try {
      return [context, await inTurn(() => context.#begin())]
    } catch (error) {
      context[Symbol.dispose]()
      throw error
    }
  }

  /** Whether both know who the other is. */
  get isEstablished(): boolean {
    return this.#isEstablished
  }

  /** Bits of `contextFlags` that it has. */
  get flags(): number {
    return this.#flags
  }

  /** When its ticket ends, by the clock of this process that nobody sets. */
  get endsAt(): number {
    return this.#endsAt
  }

  /** What the service is told next; empty where that is nothing. */
  step(challenge: Buffer): Promise<Buffer> {
    return inTurn(() => this.#initiate({ length: challenge.length, value: challenge }))
  }

  wrap(bytes: Buffer, isConfidential: boolean): Buffer {
    const [wrapped, was]: [object, [number]] = [{}, [0]]
    const given = { length: bytes.length, value: bytes }
    const flag = isConfidential ? 1 : 0
    this.#require(
      this.#libraries.wrap(this.#minor, this.#context[0], flag, 0, given, was, wrapped),
      'a message cannot be protected',
    )
    const taken = this.#libraries.take(wrapped)
    if (was[0] !== flag) throw failed('refused', 'a message cannot be encrypted with the keys of the ticket')
    return taken
  }

  unwrap(bytes: Buffer): { readonly message: Buffer; readonly isConfidential: boolean } {
    const [message, was]: [object, [number]] = [{}, [0]]
    const given = { length: bytes.length, value: bytes }
    const major = this.#libraries.unwrap(this.#minor, this.#context[0], given, message, was, [0])
    this.#require(major, 'a message of the service was changed on its way')
    const taken = this.#libraries.take(message)
    // What is left are words on messages that come twice, or in another order.
    if (major !== 0)
      throw failed('refused', 'a message of the service came twice, or in another order than it was sent')
    return { message: taken, isConfidential: was[0] !== 0 }
  }

  [Symbol.dispose](): void {
    this.#isClosed = true
    if (!this.#isBusy) this.#release()
  }

  #release(): void {
    if (this.#context[0] !== null) this.#libraries.deleteContext(this.#minor, this.#context, null)
    if (this.#credential[0] !== null) this.#libraries.releaseCredential(this.#minor, this.#credential)
    if (this.#target[0] !== null) this.#libraries.releaseName(this.#minor, this.#target)
    destroyCache(this.#libraries, this.#cache)
  }

  #require(major: number, doing: string): void {
    if (isFailure(major)) throw failureOf(this.#libraries, major, this.#minor[0], doing)
  }

  /** Waits for a call in another thread; what it uses is given back afterwards, if it was closed meanwhile. */
  async #using(call: () => Promise<number>): Promise<number> {
    if (this.#isClosed) throw failed('io', 'the connection was closed')
    this.#isBusy = true
    try {
      return await call()
    } finally {
      this.#isBusy = false
      if (this.#isClosed) this.#release()
    }
  }

  async #begin(): Promise<Buffer> {
    const { principal, keytab } = this.#credentials
    const libraries = this.#libraries
    requireKnownRealm(libraries, principal)
    const client: [Handle] = [null]
    // Libraries read keytabs from files: this one has no name, and is on no disk.
    const file = libraries.memoryFile('keytab', closeOnExec)
    if (file < 0) throw failed('io', 'no file in memory can be made for the keytab')
    const nameOf = (text: string, type: typeof spnego, into: [Handle]) => {
      const given = { length: Buffer.byteLength(text), value: text }
      this.#require(libraries.importName(this.#minor, given, type, into), `${text} is no name`)
    }
    try {
      writeSync(file, keytab)
      nameOf(principal, principalName, client)
      const { service, mechanism } = this.#asked
      nameOf(service, service.includes('/') ? principalName : hostService, this.#target)
      const elements = [
        { key: 'client_keytab', value: `FILE:/proc/self/fd/${file}` },
        { key: 'ccache', value: this.#cache },
      ]
      const acquired = await this.#using(() =>
        libraries.acquireCredential(
          this.#minor,
          client[0],
          forever,
          { count: 1, elements: [mechanism] },
          initiating,
          { count: elements.length, elements },
          this.#credential,
          null,
          null,
        ),
      )
      this.#require(acquired, `no ticket for ${principal} by the keytab`)
      return await this.#initiate(null)
    } finally {
      libraries.closeFile(file)
      if (client[0] !== null) libraries.releaseName(this.#minor, client)
    }
  }

  async #initiate(challenge: { length: number; value: Buffer } | null): Promise<Buffer> {
    const { service, mechanism, flags } = this.#asked
    const token = {}
    const [granted, seconds]: [[number], [number]] = [[0], [0]]
    const major = await this.#using(() =>
      this.#libraries.initiate(
        this.#minor,
        this.#credential[0],
        this.#context,
        this.#target[0],
        mechanism,
        flags,
        0,
        null,
        challenge,
        null,
        token,
        granted,
        seconds,
      ),
    )
    const bytes = this.#libraries.take(token)
    const doing =
      challenge === null
        ? `no ticket of ${this.#credentials.principal} for ${service}`
        : `what answers does not prove that it is ${service}`
    this.#require(major, doing)
    this.#flags = granted[0]
    this.#endsAt = seconds[0] === indefinite ? Infinity : performance.now() + seconds[0] * 1_000
    this.#isEstablished = (major & continues) === 0
    return bytes
  }
}

/** MFD_CLOEXEC: programs that this process starts do not get it. */
const closeOnExec = 1

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
