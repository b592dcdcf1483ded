import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './platform.ts'

const [kdc, database, admin] = ['krb5kdc', 'kdb5_util', 'kadmin.local'].map(
  (name) => `/usr/sbin/${name}`,
) as [string, string, string]
const missing = [kdc, database, admin].find((path) => !existsSync(path))

/** Why there is no KDC here; undefined where there is one. */
export const noKdc =
  missing === undefined ? undefined : `there is no ${missing}: install krb5-kdc and krb5-admin-server`

export const realm = 'TEST.LOCAL'

/** Of the servers of a cluster, and to clients of HTTP. */
export const servers = `hdfs/localhost@${realm}`
export const web = `HTTP/localhost@${realm}`

/** A real KDC of the test's own on loopback, which this process asks as long as it is there; gone with the scope. */
export interface Kdc extends AsyncDisposable {
  /** `krb5.conf` */
  readonly config: string
  /** Path of a keytab with new keys of principals, which are made if they are not there. */
  keytab(...principals: string[]): string
  /** Has it no longer know a principal. */
  forget(principal: string): void
  /** Has tickets of a principal end after so many seconds. */
  limitTickets(principal: string, seconds: number): void
  stop(): Promise<void>
}

/** The contents of a keytab as the option has it. */
export const keytabText = (path: string): string => readFileSync(path).toString('base64')

export async function startKdc(): Promise<Kdc> {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-kdc-'))
  const path = (name: string) => join(folder, name)
  const port = await freePort()
  const config = path('krb5.conf')
  writeFileSync(config, clientConfig(port))
  writeFileSync(path('kdc.conf'), serverConfig(port, folder))
  writeFileSync(path('acl'), '')
  const env = { ...process.env, KRB5_CONFIG: config, KRB5_KDC_PROFILE: path('kdc.conf') }
  execFileSync(database, ['-r', realm, 'create', '-s', '-P', 'of-these-tests'], { env, stdio: 'pipe' })
  const ask = (query: string) => execFileSync(admin, ['-r', realm, '-q', query], { env, stdio: 'pipe' })
  const child = spawn(kdc, ['-n', '-r', realm], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    kill()
    await gone
  }
  await listening(child)
  const before = process.env['KRB5_CONFIG']
  process.env['KRB5_CONFIG'] = config
  let count = 0
  return {
    config,
    keytab: (...principals) => {
      const file = path(`${++count}.keytab`)
      for (const principal of principals) {
        ask(`addprinc -randkey ${principal}`)
        ask(`ktadd -k ${file} ${principal}`)
      }
      return file
    },
    forget: (principal) => void ask(`delprinc -force ${principal}`),
    limitTickets: (principal, seconds) => void ask(`modprinc -maxlife "${seconds} seconds" ${principal}`),
    stop,
    [Symbol.asyncDispose]: async () => {
      if (before === undefined) delete process.env['KRB5_CONFIG']
      else process.env['KRB5_CONFIG'] = before
      process.off('exit', kill)
      await stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Says when it listens. */
async function listening(child: ReturnType<typeof spawn>): Promise<void> {
  let output = ''
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => {
      output += chunk.toString()
      if (output.includes('starting...')) resolve()
    })
  child.once('exit', (code) => reject(new Error(`krb5kdc ended with ${code}: ${output}`)))
  return promise
}

const serverConfig = (port: number, folder: string) => `[kdcdefaults]
 kdc_listen = 127.0.0.1:${port}
 kdc_tcp_listen = 127.0.0.1:${port}
[realms]
 ${realm} = {
  database_name = ${folder}/principal
  key_stash_file = ${folder}/stash
  acl_file = ${folder}/acl
  max_life = 24h
  supported_enctypes = aes256-cts:normal aes128-cts:normal
 }
`

// Java does not read a realm that is on one line.
const clientConfig = (port: number) => `[libdefaults]
 default_realm = ${realm}
 dns_lookup_kdc = false
 dns_lookup_realm = false
 rdns = false
 dns_canonicalize_hostname = false
 udp_preference_limit = 1
[realms]
 ${realm} = {
  kdc = 127.0.0.1:${port}
 }
[domain_realm]
 localhost = ${realm}
`
