import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { FilesystemOptions } from '../../subjects/filesystems/kinds.ts'
import { makeCertificates } from './certificates.ts'
import { type Kdc, keytabText, servers, web } from './kdc.ts'

/** A cluster of the test's own on loopback; gone with the scope. */
export interface HdfsCluster extends AsyncDisposable {
  /** Web addresses of its name nodes, the active one first. */
  readonly nameNodes: readonly string[]
  /** Options of a filesystem in it, with blocks of 1 MiB. */
  options(properties?: Record<string, string>): FilesystemOptions<'hdfs'>
  /** Has the cluster, or Hadoop's own client, do something (`Cluster.java`), and gives its answer. */
  ask(...words: string[]): Promise<string>
  /** Ends it as kill -9 does. */
  kill(): Promise<void>
  /** Ends one with a single name node as kill -9 does, and starts it again with what it had, at the same addresses. */
  restart(): Promise<void>
}

/** Who starts a cluster is its superuser. */
const user = process.env['USER'] ?? 'root'

/**
 * @param classPath of the cluster of tests, `hdfsClasses`
 * @param settings of Hadoop, and of `Cluster.java`
 * @param kdc with it the cluster believes those alone whom that knows
 */
export async function startHdfsCluster(
  classPath: string,
  settings: Record<string, string> = {},
  kdc?: Kdc,
): Promise<HdfsCluster> {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-hdfs-'))
  const isSecure = settings['dfs.http.policy'] === 'HTTPS_ONLY'
  const ca = isSecure ? readFileSync(serverKeys(folder), 'utf8') : undefined
  const keytab = kdc?.keytab(servers, web)
  const secured = { principal: servers, web, keytab: keytab ?? '', 'dfs.http.policy': 'HTTP_ONLY' }
  const all = { folder, starter: user, ...(keytab !== undefined && secured), ...settings }
  const run = (own: Record<string, string>) =>
    startProcess(
      [
        '-Xmx768m',
        ...(kdc === undefined ? [] : [`-Djava.security.krb5.conf=${kdc.config}`]),
        '-cp',
        // With what else the test has put there.
        `${folder}:${classPath}`,
        'Cluster',
        ...Object.entries(own).map(([name, value]) => `${name}=${value}`),
      ],
      // Some of it goes to the working folder.
      folder,
    )
  let running = run(all)
  const [, ...nameNodes] = (await running.next()).split(' ')
  return {
    nameNodes,
    options: (properties = {}) => ({
      defaultFS:
        nameNodes.length === 1 ? `${isSecure ? 'swebhdfs' : 'webhdfs'}://${nameNodes[0]}` : 'hdfs://pair',
      ...(ca !== undefined && { caCertificate: ca }),
      ...(keytab === undefined
        ? { user }
        : { kerberosPrincipal: servers, kerberosKeytab: keytabText(keytab) }),
      additionalProperties: {
        'dfs.blocksize': String(1024 * 1024),
        ...(nameNodes.length > 1 && {
          'dfs.ha.namenodes.pair': nameNodes.map((_, index) => `nn${index}`).join(','),
          ...Object.fromEntries(
            nameNodes.map((address, index) => [`dfs.namenode.http-address.pair.nn${index}`, address]),
          ),
        }),
        ...properties,
      },
    }),
    ask: (...words) => running.ask(...words),
    kill: () => running.kill(),
    restart: async () => {
      const rpc = new URL((await running.ask('address')).trim()).port
      await running.kill()
      running = run({ ...all, again: `${rpc},${nameNodes[0]!.split(':')[1]}` })
      await running.next()
    },
    [Symbol.asyncDispose]: async () => {
      await running.kill()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** A cluster's process, which answers a line with a line. */
function startProcess(args: readonly string[], folder: string) {
  const child = spawn('java', args, {
    cwd: folder,
    stdio: ['pipe', 'pipe', 'ignore'],
    env: { ...process.env, HADOOP_USER_NAME: user },
  })
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  const waiting: ((line: string) => void)[] = []
  // Hadoop writes its log there too, and waits when nobody reads.
  createInterface(child.stdout).on('line', (line) => {
    if (/^(?:READY|DONE|FAILED)/.test(line)) waiting.shift()?.(line)
  })
  const ended = once(child, 'exit').then(() => {
    throw new Error('the cluster has ended')
  })
  // Whoever waits for an answer is told.
  ended.catch(() => undefined)
  const next = (): Promise<string> =>
    Promise.race([ended, new Promise<string>((resolve) => void waiting.push(resolve))])
  return {
    next,
    ask: async (...words: readonly string[]): Promise<string> => {
      const answering = next()
      child.stdin.write(`${words.join(' ')}\n`)
      const answer = await answering
      if (answer.startsWith('FAILED')) throw new Error(answer)
      return answer.slice('DONE '.length)
    },
    kill: async () => {
      process.off('exit', kill)
      if (child.exitCode !== null || child.signalCode !== null) return
      const gone = once(child, 'exit')
      kill()
      await gone
    },
  }
}

/** Keys of the servers where Hadoop looks for them, in the class path. @returns path of the authority's certificate */
function serverKeys(folder: string): string {
  const { ca, certificate, key } = makeCertificates(folder)
  const [store, password] = [join(folder, 'keys.p12'), 'of-these-tests']
  const files = ['-in', certificate, '-inkey', key, '-out', store]
  execFileSync('openssl', ['pkcs12', '-export', ...files, '-passout', `pass:${password}`], { stdio: 'pipe' })
  const settings = { location: store, password, keypassword: password }
  const lines = Object.entries(settings).map(
    ([name, value]) => `<property><name>ssl.server.keystore.${name}</name><value>${value}</value></property>`,
  )
  writeFileSync(join(folder, 'ssl-server.xml'), `<configuration>${lines.join('')}</configuration>`)
  return ca
}
