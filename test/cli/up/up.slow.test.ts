import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { files, httpServers, loopback } from '../../../subjects/kit/names.ts'
import { createHome } from '../../support/platform.ts'
import { until } from '../../support/until.ts'
import { type CliProcess, spawnGantry } from '../support.ts'

/** The last line of what `up` says when all runs. */
const ready = 'Ctrl-C stops it.'

let home: string
beforeEach(async () => {
  home = await createHome()
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

const environment = (folder = home) => ({ GANTRY_HOME: folder, GANTRY_TOKEN: '' })
const up = (...args: string[]): CliProcess => spawnGantry(['up', ...args], environment())

async function run(...args: string[]) {
  await using process = spawnGantry(args, environment())
  const code = await process.ended
  return { code, ...process.written }
}

const brokerPid = () => Number(readFileSync(join(home, 'run', 'nats-server.pid'), 'utf8'))

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** `up` does not come up: it says one line, ends with 1, and leaves nothing behind. */
async function refuses(folder = home): Promise<string> {
  await using process = spawnGantry(['up', '--log-level', 'silent'], environment(folder))
  expect(await process.ended).toBe(1)
  expect(process.written.out).toBe('')
  expect(process.written.err).toMatch(/^error: [^\n]+\n$/)
  return process.written.err
}

async function occupy(port: number): Promise<AsyncDisposable> {
  const server = createServer().listen(port, loopback)
  await once(server, 'listening')
  return { [Symbol.asyncDispose]: async () => void (await new Promise((resolve) => server.close(resolve))) }
}

test('up says what runs where; other processes use it; Ctrl-C stops it in order; a second start goes on, and ends with its npm', async () => {
  {
    await using platform = up()
    await platform.said(ready)
    const { out, err } = platform.written
    const about = JSON.parse((await run('info', '--json')).out) as { http: object; broker: { tcp: string } }
    for (const url of Object.values(about.http)) expect(out).toContain(String(url))
    expect(out).toContain(about.broker.tcp)
    expect(out).toContain(home)
    // What it suggests to try is a command.
    expect(out).toMatch(/gantry filesystems create-local here --role source --fs-root \/usr\/share\n/)
    // Elsewhere than on a terminal the log is a JSON object in each line.
    for (const line of err.trim().split('\n')) expect(JSON.parse(line)).toHaveProperty('msg')
    const made = await run(
      'filesystems',
      'create-local',
      'here',
      '--role',
      'source',
      '--fs-root',
      '/usr/share',
    )
    expect(made.code).toBe(0)
    const server = brokerPid()
    platform.child.kill('SIGINT')
    expect(await platform.ended).toBe(0)
    expect(platform.written.out).toMatch(/Stopping in order; .+\nStopped\.\n$/)
    expect(isAlive(server)).toBe(false)
    expect((await run('info')).code).toBe(3)
  }
  // As npm starts it: what ends npm ends the shell, which tells nobody.
  const shell = ['sh', '-c', '"$0" "$@"; :']
  const environmentOfNpm = { ...environment(), npm_command: 'start' }
  await using platform = spawnGantry(['up', '--log-level', 'warn'], environmentOfNpm, shell)
  await platform.said(ready)
  expect((await run('filesystems', 'list')).out).toContain('here')
  expect(platform.written.err).toBe('')
  const server = brokerPid()
  platform.child.kill('SIGTERM')
  await platform.said('Stopped.')
  expect(isAlive(server)).toBe(false)
})

test('told to end together with its nats-server, as systemd does, it starts none again, and loses nothing', async () => {
  {
    await using platform = up('--log-level', 'warn')
    await platform.said(ready)
    expect(
      (await run('filesystems', 'create-local', 'here', '--role', 'source', '--fs-root', '/usr/share')).code,
    ).toBe(0)
    const server = brokerPid()
    process.kill(server, 'SIGTERM')
    platform.child.kill('SIGTERM')
    expect(await platform.ended).toBe(0)
    expect(platform.written.out).toMatch(/Stopped\.\n$/)
    expect(platform.written.err).toBe('')
    expect(isAlive(server)).toBe(false)
    expect(readFileSync(join(home, 'run', 'nats-server.log'), 'utf8').match(/Server is ready/g)).toHaveLength(
      1,
    )
  }
  await using platform = up('--log-level', 'warn')
  await platform.said(ready)
  expect((await run('filesystems', 'list')).out).toContain('here')
})

test('killed with -9 it takes its nats-server along', async () => {
  await using platform = up()
  await platform.said(ready)
  const server = brokerPid()
  expect(isAlive(server)).toBe(true)
  const killed = performance.now()
  platform.child.kill('SIGKILL')
  await until('nats-server is gone', () => !isAlive(server))
  expect(performance.now() - killed).toBeLessThan(2_000)
})

test('a second one on the same folder is refused, and the first one stays', async () => {
  await using platform = up()
  await platform.said(ready)
  expect(await refuses()).toContain(String(platform.child.pid))
  expect((await run('info')).code).toBe(0)
})

test('one with the same store in another folder is refused, and told who uses it since when', async () => {
  const store_dir = join(home, 'store')
  const first = await createHome({ store_dir })
  const second = await createHome({ store_dir })
  try {
    await using platform = spawnGantry(['up'], environment(first))
    await platform.said(ready)
    expect(await refuses(second)).toMatch(
      new RegExp(`another Gantry uses this store \\(process ${platform.child.pid} on .+, since \\d{4}-`),
    )
  } finally {
    for (const folder of [first, second]) rmSync(folder, { recursive: true, force: true })
  }
})

test('one that was paused for longer than its lease ends by itself; the next one starts at once', async () => {
  const leaseSeconds = 2
  {
    await using platform = spawnGantry(['up', '--log-level', 'silent'], {
      ...environment(),
      GANTRY_LEASE_SECONDS: String(leaseSeconds),
    })
    await platform.said(ready)
    const server = brokerPid()
    platform.child.kill('SIGSTOP')
    // Time that passes is the test.
    await delay(2 * leaseSeconds * 1_000)
    platform.child.kill('SIGCONT')
    expect(await platform.ended).toBe(1)
    expect(platform.written.err).toMatch(
      /^error: Gantry has ended, as its lease on the store is over: [^\n]+\n$/,
    )
    await until('nats-server is gone', () => !isAlive(server))
  }
  await using platform = up()
  await platform.said(ready)
})

test('a lease of a time that makes no sense is refused', async () => {
  await using process = spawnGantry(['up', '--log-level', 'silent'], {
    ...environment(),
    GANTRY_LEASE_SECONDS: '0.1',
  })
  expect(await process.ended).toBe(1)
  expect(process.written.err).toMatch(
    /^error: GANTRY_LEASE_SECONDS must be a number from 2 to 600, not "0.1"\n$/,
  )
})

test('a taken port of the broker is named with the file that sets it', async () => {
  const { port } = JSON.parse(readFileSync(join(home, files.messaging), 'utf8')) as { port: number }
  await using _ = await occupy(port)
  expect(await refuses()).toMatch(new RegExp(`${files.messaging}.*\\b${port}\\b.*taken`))
})

test('a taken port of an HTTP server is named with the file that sets it; the broker is stopped', async () => {
  const { propertiesFile } = httpServers.migrator
  const port = Number(/port=(\d+)/.exec(readFileSync(join(home, propertiesFile), 'utf8'))?.[1])
  await using _ = await occupy(port)
  const line = await refuses()
  expect(line).toContain(propertiesFile)
  expect(line).toContain(String(port))
  expect(isAlive(brokerPid())).toBe(false)
})

test('a wrong setting is named with its file', async () => {
  writeFileSync(join(home, files.messaging), '{ "max_mem": "much", "max_file": "1GiB" }')
  expect(await refuses()).toMatch(/messaging\.config.*max_mem/)
  writeFileSync(join(home, files.messaging), '{\n "max_mem": }')
  expect(await refuses()).toMatch(/messaging\.config/)
})

test('a folder that is a file, or cannot be made, is named', async () => {
  const file = join(home, files.messaging)
  expect(await refuses(file)).toBe(
    `error: the configuration folder ${file} is, or is in, a file: set GANTRY_HOME to a folder that you can write\n`,
  )
  expect(await refuses(join(file, 'below'))).toContain('is, or is in, a file')
  expect(await refuses('/sys/gantry')).toMatch(/the configuration folder \/sys\/gantry cannot be written/)
})
