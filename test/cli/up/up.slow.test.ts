import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { files, httpServers, loopback } from '../../../subjects/kit/names.ts'
import { createHome, freePort } from '../../support/platform.ts'
import { until } from '../../support/until.ts'
import { type CliProcess, spawnGantry } from '../support.ts'
import { lastLine } from '../../../cli/up/text.ts'

/** The last line of what `up` says when all runs. */
const ready = lastLine

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

/** Whoever takes ports here is this process. */
const holder = `node (process ${process.pid})`

const brokerPidFile = () => join(home, 'run', 'nats-server.pid')
const brokerPid = () => Number(readFileSync(brokerPidFile(), 'utf8'))

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** `up` does not come up: it says why, ends with 1, and leaves nothing behind. */
async function refusalOf(folder = home, ...flags: string[]): Promise<string> {
  await using process = spawnGantry(['up', '--log-level', 'silent', ...flags], environment(folder))
  expect(await process.ended).toBe(1)
  expect(process.written.out).toBe('')
  return process.written.err
}

/** The same where one line says all. */
async function refuses(folder = home): Promise<string> {
  const text = await refusalOf(folder)
  expect(text).toMatch(/^error: [^\n]+\n$/)
  return text
}

/** Of ports that are taken, another line says with what command all are free. */
async function refusesPorts(...flags: string[]): Promise<{ lines: string[]; command: string[] }> {
  const lines = (await refusalOf(home, ...flags)).trimEnd().split('\n')
  const command = /^Start on free ports: GANTRY_HOME=(\S+) (?:\.\/)?gantry up (.+)$/.exec(lines.pop()!)
  expect(command?.[1]).toBe(home)
  expect(lines[0]).toMatch(/^error: /)
  return { lines, command: command![2]!.split(' ') }
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
    expect(platform.written.out).toMatch(/Stopping gracefully; .+\nStopped\.\n$/)
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
      /^error: Gantry has stopped because its lease on the store ended: [^\n]+\nStart it again: GANTRY_HOME=\S+ (?:\.\/)?gantry up --log-level silent\n$/,
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
  const { lines } = await refusesPorts()
  expect(lines).toEqual([
    `error: ${files.messaging}: port ${port} on ${loopback} is in use by ${holder}: stop it, or change port`,
  ])
})

test('a taken port of an HTTP server is named with the file that sets it; no broker is started', async () => {
  const { propertiesFile } = httpServers.migrator
  const port = Number(/port=(\d+)/.exec(readFileSync(join(home, propertiesFile), 'utf8'))?.[1])
  await using _ = await occupy(port)
  const [line] = (await refusesPorts()).lines
  expect(line).toContain(propertiesFile)
  expect(line).toContain(String(port))
  expect(existsSync(brokerPidFile())).toBe(false)
})

test('all taken ports are told at once, before anything is made', async () => {
  const { port } = JSON.parse(readFileSync(join(home, files.messaging), 'utf8')) as { port: number }
  const portOf = (file: string) => Number(/port=(\d+)/.exec(readFileSync(join(home, file), 'utf8'))?.[1])
  const [platform, metadata] = [httpServers.platform, httpServers.metadata]
  const ports = [port, portOf(platform.propertiesFile), portOf(metadata.propertiesFile)]
  await using _ = await occupy(ports[0]!)
  await using __ = await occupy(ports[1]!)
  await using ___ = await occupy(ports[2]!)
  const { lines, command } = await refusesPorts()
  expect(lines[0]).toBe('error: 3 settings cannot be used:')
  expect(lines).toHaveLength(4)
  for (const [index, file] of [files.messaging, platform.propertiesFile, metadata.propertiesFile].entries())
    expect(lines[index + 1]).toContain(
      `  ${file}: port ${ports[index]} on ${loopback} is in use by ${holder}: stop it, or change `,
    )
  // The passwords of the development provider are shown once: they are not made before it can be shown.
  expect(existsSync(join(home, files.developmentProvider))).toBe(false)

  // The command that it names works, and what asks the platform on this host finds it there.
  await using started = up('--log-level', 'silent', ...command)
  await started.said(ready)
  const offset = Number(command[1])
  expect(started.written.out).toContain(`http://${loopback}:${ports[1]! + offset}`)
  expect(started.written.out).toContain(`nats://${loopback}:${port + offset}`)
  expect((await run('info')).code).toBe(0)
  expect((await run('credential', 'recover', '--yes')).out).toContain('has all permissions again')
  started.child.kill('SIGINT')
  await started.ended
  // Whoever asks a platform that was stopped is told to start it where it was.
  const { err } = await run('info')
  expect(err).toMatch(new RegExp(`start the platform with "(?:\\./)?gantry up ${command.join(' ')}", or`))
})

test('a flag counts for more than a variable, a variable for more than gantry.config, and that for more than a file', async () => {
  const [ofFlag, ofVariable, ofConfig] = [await freePort(), await freePort(), await freePort()]
  {
    await using first = up('--log-level', 'silent')
    await first.said(ready)
  }
  const config = JSON.parse(readFileSync(join(home, files.config), 'utf8')) as object
  writeFileSync(
    join(home, files.config),
    JSON.stringify({ ...config, 'platform.port': 1, 'migrator.port': 2, 'metadata.port': ofConfig }),
  )
  const env = { ...environment(), GANTRY_PLATFORM_PORT: '3', GANTRY_MIGRATOR_PORT: String(ofVariable) }
  await using process = spawnGantry(['up', '--log-level', 'silent', '--platform-port', String(ofFlag)], env)
  await process.said(ready)
  for (const port of [ofFlag, ofVariable, ofConfig])
    expect(process.written.out).toContain(`http://${loopback}:${port}/`)
})

test('a start with other ports than the last one says what that means for tokens', async () => {
  const started = async (...flags: string[]) => {
    await using platform = up('--log-level', 'silent', ...flags)
    await platform.said(ready)
    platform.child.kill('SIGINT')
    await platform.ended
    return platform.written.out
  }
  const broker = () =>
    (JSON.parse(readFileSync(join(home, 'run', 'last-start.json'), 'utf8')) as { broker: string }).broker
  const flags = ['--broker-port', String(await freePort())]
  expect(await started(...flags)).not.toContain('The last start')
  const before = broker()
  const out = await started()
  expect(out).toContain(
    `The last start listened at ${before}: tokens created then contain its addresses. Use them with --server ${broker()}, or start with "`,
  )
  expect(out).toContain(`gantry up ${flags.join(' ')} --log-level silent".\n`)
  expect(await started()).not.toContain('The last start')
})

test('a taken port of a flag is named by it', async () => {
  const port = await freePort()
  await using _ = await occupy(port)
  const text = await refusalOf(home, '--platform-port', String(port))
  expect(text).toBe(
    `error: --platform-port: port ${port} on ${loopback} is in use by ${holder}: stop it, or change --platform-port\n`,
  )
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
    `error: the configuration folder ${file} is a file or below a file: set GANTRY_HOME to a writable folder\n`,
  )
  expect(await refuses(join(file, 'below'))).toContain('is a file or below a file')
  expect(await refuses('/sys/gantry')).toMatch(/the configuration folder \/sys\/gantry cannot be written/)
})
