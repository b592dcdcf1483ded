import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Certificates, makeCertificates } from './certificates.ts'
import { freePort } from './platform.ts'
import { testUnless } from './unless.ts'
import { until } from './until.ts'

const slapd = '/usr/sbin/slapd'
const schemas = '/etc/ldap/schema'
const modules = '/usr/lib/ldap'

export const hasSlapd = existsSync(slapd)
const noSlapd = hasSlapd ? undefined : `there is no ${slapd}: install the package slapd`
/** A test with a real directory. */
export const ldapTest = (name: string, work: () => Promise<void>): void => testUnless(noSlapd, name, work)

export const suffix = 'dc=example,dc=org'
export const peopleBase = `ou=people,${suffix}`
export const groupsBase = `ou=groups,${suffix}`
export const manager = { dn: `cn=manager,${suffix}`, password: 'of-the-manager' }

/** Without one that says so no account is ever locked. */
const policy = `cn=policy,${suffix}`

/** So many entries come with one answer; directories let a client have more in pages. */
export const answerLimit = 150

/** A person of the directory; `locked` as an administrator locks an account. */
export interface DirectoryPerson {
  readonly uid: string
  readonly password?: string
  /** Another name, beside the one in the distinguished name. */
  readonly alias?: string
  readonly locked?: true
}

/** A real OpenLDAP server of the test's own on loopback; gone with the scope. */
export interface Slapd extends AsyncDisposable {
  readonly url: string
  readonly tlsUrl: string
  readonly certificates: Certificates
  readonly folder: string
  stop(): Promise<void>
  /** Starts it again where it was, with what it had. */
  start(): Promise<void>
}

/** Starts a directory with people, and groups by name with the `uid`s of their members. */
export async function startSlapd(
  people: readonly DirectoryPerson[],
  groups: Readonly<Record<string, readonly string[]>> = {},
): Promise<Slapd> {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-slapd-'))
  const certificates = makeCertificates(folder)
  const config = join(folder, 'slapd.conf')
  mkdirSync(join(folder, 'data'))
  writeFileSync(config, configText(folder, certificates))
  const ldif = join(folder, 'people.ldif')
  writeFileSync(ldif, ldifText(people, groups))
  execFileSync(slapd, ['-T', 'add', '-f', config, '-l', ldif], { stdio: 'pipe' })
  const url = `ldap://127.0.0.1:${await freePort()}`
  const tlsUrl = `ldaps://127.0.0.1:${await freePort()}`
  let child: ChildProcess | undefined
  const stop = async () => {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
  }
  const start = async () => {
    child = spawn(slapd, ['-d', 'stats', '-h', `${url} ${tlsUrl}`, '-f', config], {
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    process.once('exit', () => child?.kill('SIGKILL'))
    await listening(child)
    // It says so a moment before it listens.
    await Promise.all([url, tlsUrl].map((each) => until(`${each} listens`, () => isListening(each))))
  }
  await start()
  return {
    url,
    tlsUrl,
    certificates,
    folder,
    stop,
    start,
    [Symbol.asyncDispose]: async () => {
      await stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

const configText = (folder: string, { ca, certificate, key }: Certificates): string => `
include ${schemas}/core.schema
include ${schemas}/cosine.schema
include ${schemas}/inetorgperson.schema
modulepath ${modules}
moduleload back_mdb
moduleload ppolicy
pidfile ${folder}/slapd.pid
TLSCACertificateFile ${ca}
TLSCertificateFile ${certificate}
TLSCertificateKeyFile ${key}
access to attrs=userPassword by anonymous auth by * none
access to * by users read by anonymous auth
database mdb
maxsize 16777216
suffix "${suffix}"
rootdn "${manager.dn}"
rootpw ${manager.password}
limits users size=${answerLimit} size.prtotal=unlimited
directory ${folder}/data
overlay ppolicy
ppolicy_default "${policy}"
`

const base64 = (text: string) => Buffer.from(text).toString('base64')
/** Every name of the tests, whatever is in it: each byte in hexadecimal. */
const uidDn = (uid: string) =>
  `uid=${[...Buffer.from(uid)].map((byte) => `\\${byte.toString(16).padStart(2, '0')}`).join('')},${peopleBase}`

function ldifText(
  people: readonly DirectoryPerson[],
  groups: Readonly<Record<string, readonly string[]>>,
): string {
  const unit = (dn: string) => `dn: ${dn}\nobjectClass: organizationalUnit\n`
  const person = ({ uid, alias, password, locked }: DirectoryPerson) => `dn: ${uidDn(uid)}
objectClass: inetOrgPerson
uid:: ${base64(uid)}${alias === undefined ? '' : `\nuid:: ${base64(alias)}`}
cn:: ${base64(`${uid} of the directory`)}
sn: Someone
mail: someone@example.org
${password === undefined ? '' : `userPassword:: ${base64(password)}\n`}${
    locked ? 'pwdAccountLockedTime: 000001010000Z\n' : ''
  }`
  const group = ([name, members]: [string, readonly string[]]) => `dn: cn=${name},${groupsBase}
objectClass: groupOfNames
cn: ${name}
${members.map((uid) => `member: ${uidDn(uid)}\n`).join('')}`
  const root = `dn: ${suffix}\nobjectClass: organization\nobjectClass: dcObject\no: Example\ndc: example\n`
  return [
    root,
    `dn: ${policy}\nobjectClass: device\nobjectClass: pwdPolicy\npwdAttribute: userPassword\npwdLockout: TRUE\n`,
    unit(peopleBase),
    unit(groupsBase),
    ...people.map(person),
    ...Object.entries(groups).map(group),
  ].join('\n')
}

async function isListening(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

function listening(child: ChildProcess): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  let output = ''
  child.stderr?.on('data', (chunk: Buffer) => {
    output += chunk.toString()
    if (output.includes('slapd starting')) resolve()
  })
  child.once('error', reject)
  child.once('exit', (code) => reject(new Error(`slapd ended with ${code}: ${output}`)))
  return promise
}
