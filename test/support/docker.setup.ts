import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { runProgram } from '../../broker/server/run-program.ts'
import { provide } from './provide.ts'

const probeTimeoutMs = 10_000
/** It takes a second or two where nothing else runs. */
const startTimeoutMs = 60_000
const pollMs = 200

/** The address of a daemon of Docker: the one that runs here, or one of the tests' own, which needs root. */
export async function setup(): Promise<() => Promise<void>> {
  let stop = () => Promise.resolve()
  await provide('DOCKER_FOR_PEERS', async () => {
    const usual = process.env['DOCKER_HOST'] ?? 'unix:///var/run/docker.sock'
    if (await answers(usual)) return usual
    const own = await startDaemon()
    stop = own.stop
    return own.address
  })
  return () => stop()
}

const answers = (address: string): Promise<boolean> =>
  runProgram('docker', ['version'], { timeoutMs: probeTimeoutMs, env: { DOCKER_HOST: address } }).then(
    () => true,
    () => false,
  )

async function startDaemon(): Promise<{ address: string; stop: () => Promise<void> }> {
  if (process.getuid?.() !== 0) throw new Error('no daemon of Docker answers, and only root can start one')
  const folder = mkdtempSync(join(tmpdir(), 'gantry-docker-'))
  const address = `unix://${folder}/docker.sock`
  const args = ['--host', address, '--data-root', `${folder}/data`, '--exec-root', `${folder}/exec`]
  const daemon = spawn('dockerd', [...args, '--pidfile', `${folder}/pid`], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let said = ''
  daemon.stderr.on('data', (part: Buffer) => (said = part.toString()))
  const ended = once(daemon, 'exit').catch((error: NodeJS.ErrnoException) => {
    said = error.code === 'ENOENT' ? "there is no dockerd: install Debian's docker.io" : error.message
  })
  let isOver = false
  void ended.then(() => (isOver = true))
  const stop = async () => {
    daemon.kill('SIGTERM')
    await ended
    unmountBelow(folder)
    rmSync(folder, { recursive: true, force: true })
  }
  const deadlineMs = performance.now() + startTimeoutMs
  while (!(await answers(address))) {
    if (!isOver && performance.now() < deadlineMs) {
      await setTimeout(pollMs)
      continue
    }
    await stop()
    throw new Error(`dockerd does not start: ${said.trim().split('\n').at(-1)}`)
  }
  return { address, stop }
}

/** The daemon leaves the network namespace of containers that shared the host's mounted, and its data over themselves. */
function unmountBelow(folder: string): void {
  const mounted = readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '')
    .filter((path) => path.startsWith(`${folder}/`))
  // What was mounted last goes first.
  for (const path of mounted.toReversed()) execFileSync('umount', ['--lazy', path])
}
