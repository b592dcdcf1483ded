import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { runProgram } from '../../broker/server/run-program.ts'
import { natsServerPath } from './platform.ts'

const timeoutMs = 120_000
/** What the Dockerfile calls, and what tests call in a container. */
const tools = ['sh', 'mkdir', 'chmod', 'chown', 'ln', 'env', 'cat', 'ls', 'uname']
/** Loaded by name while a program runs, and by packages with native parts. */
const libraries = ['libnss_dns.so.2', 'libnss_files.so.2', 'libresolv.so.2', 'librt.so.1', 'libpthread.so.0']
const moreLibraries = ['libdl.so.2', 'libm.so.6', 'libutil.so.1', 'libgcc_s.so.1', 'libstdc++.so.6']
const certificates = '/etc/ssl/certs/ca-certificates.crt'

/**
 * An image with Node 24, npm and nats-server, made of this host's programs with their libraries: what the Dockerfile builds on
 * where no image can be pulled.
 */
export async function importBaseImage(tag: string, docker: Record<string, string>): Promise<void> {
  const root = mkdtempSync(join(tmpdir(), 'gantry-base-'))
  try {
    for (const folder of [
      'etc/ssl/certs',
      'tmp',
      'var/tmp',
      'root',
      'usr/bin',
      'usr/lib/node_modules',
      'usr/lib64',
    ])
      mkdirSync(join(root, folder), { recursive: true })
    // Whoever the user is.
    for (const name of ['tmp', 'var/tmp']) chmodSync(join(root, name), 0o1777)
    for (const name of ['bin', 'lib', 'lib64']) symlinkSync(`usr/${name}`, join(root, name))
    const found = await Promise.all(tools.map((tool) => pathOf(tool)))
    const npm = realpathSync(await pathOf('npm'))
    for (const [index, path] of found.entries()) await addProgram(root, path, tools[index]!)
    await addProgram(root, process.execPath, 'node')
    await addProgram(root, await natsServerPath(), 'nats-server')
    const libc = (await librariesOf(process.execPath)).find((path) => basename(path) === 'libc.so.6')!
    for (const name of [...libraries, ...moreLibraries]) addLibrary(root, join(dirname(libc), name))
    cpSync(dirname(dirname(npm)), join(root, 'usr/lib/node_modules/npm'), { recursive: true })
    symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', join(root, 'usr/bin/npm'))
    writeFileSync(join(root, 'etc/passwd'), 'root:x:0:0::/root:/bin/sh\n')
    if (existsSync(certificates)) copyFileSync(certificates, join(root, certificates))
    await importFolder(root, tag, docker)
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}

const pathOf = async (program: string): Promise<string> =>
  (await runProgram('sh', ['-c', `command -v ${program}`], { timeoutMs })).trim()

async function addProgram(root: string, path: string, name: string): Promise<void> {
  copyFileSync(realpathSync(path), join(root, 'usr/bin', name))
  for (const library of await librariesOf(path)) addLibrary(root, library)
}

async function librariesOf(program: string): Promise<string[]> {
  // A program that needs none is an error to it.
  const text = await runProgram('ldd', [program], { timeoutMs }).catch(() => '')
  return [...text.matchAll(/(\/\S+)(?= \()/g)].map(([path]) => path)
}

function addLibrary(root: string, path: string): void {
  const to = join(root, path)
  if (existsSync(to) || !existsSync(path)) return
  mkdirSync(dirname(to), { recursive: true })
  copyFileSync(realpathSync(path), to)
}

async function importFolder(root: string, tag: string, env: Record<string, string>): Promise<void> {
  const changes = ['ENV PATH=/usr/bin']
  // Where this host trusts more than what Node brings, npm in the image must too.
  if (process.env['NODE_EXTRA_CA_CERTS'] !== undefined)
    changes.push(`ENV NODE_EXTRA_CA_CERTS=${certificates}`)
  const tar = spawn('tar', ['-C', root, '-c', '.'], { stdio: ['ignore', 'pipe', 'inherit'] })
  const args = ['import', ...changes.flatMap((change) => ['--change', change]), '-', tag]
  const docker = spawn('docker', args, {
    env: { ...process.env, ...env },
    stdio: [tar.stdout, 'ignore', 'inherit'],
  })
  const [code] = (await once(docker, 'exit')) as [number]
  if (code !== 0) throw new Error(`docker import ended with ${code}`)
}
