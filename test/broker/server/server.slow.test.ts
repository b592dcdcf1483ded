import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect, jwtAuthenticator } from '@nats-io/transport-node'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ConfigError } from '../../../config/config-error.ts'
import { createKey } from '../../../broker/identity/ed25519.ts'
import { createIdentity, withLimits } from '../../../broker/identity/create-identity.ts'
import { startBroker } from '../../../broker/server/server.ts'
import { userJwt } from '../../../broker/identity/user-jwt.ts'
import { accounts } from '../../../subjects/kit/names.ts'
import { messagingIn, smallLimits, startTestBroker } from '../../support/broker.ts'
import { recordingLog } from '../../support/log.ts'
import { natsServerPath } from '../../support/platform.ts'
import { until } from '../../support/until.ts'

let home: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'gantry-server-'))
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

const alive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    // A zombie is dead; whoever started it has not noticed yet.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

const failure = (promise: Promise<AsyncDisposable>): Promise<Error> =>
  promise.then(
    async (started) => {
      await started[Symbol.asyncDispose]()
      throw new Error('it started')
    },
    (error: Error) => error,
  )

test('nats-server gets its configuration from us, readable by its owner alone', async () => {
  await using broker = await startTestBroker({ home })
  for (const name of ['nats-server.conf', 'nats-server.log'])
    expect(statSync(join(home, 'run', name)).mode & 0o777).toBe(0o600)
  expect(statSync(join(home, 'run')).mode & 0o777).toBe(0o700)
  const connection = await broker.connect('PLATFORM')
  expect(connection.info).toMatchObject({ jetstream: true, max_payload: 8 * 2 ** 20 })
  expect(await (await jetstreamManager(connection)).getAccountInfo()).toMatchObject({
    limits: { max_storage: smallLimits.maxFileBytes, max_memory: smallLimits.maxMemBytes },
  })
})

test('killed with -9 it is started again; clients come back by themselves, and what was stored is there', async () => {
  const { log, lines } = recordingLog()
  await using broker = await startTestBroker({ home, log })
  const connection = await broker.connect('PLATFORM')
  const manager = await jetstreamManager(connection)
  await manager.streams.add({ name: 'S', subjects: ['s'] })
  await jetstream(connection).publish('s', 'kept')
  for (let round = 1; round <= 3; round++) {
    await broker.kill()
    const stored = await until('the stream answers', () =>
      manager.streams.getMessage('S', { seq: 1 }).catch(() => undefined),
    )
    expect(stored.string()).toBe('kept')
  }
  expect(connection.stats().inMsgs).toBeGreaterThan(0)
  // On a slow machine one that starts may be given up, and be tried once more.
  const ends = () => lines.filter(({ message }) => message === 'nats-server stopped; restarting it.')
  await until('each end is logged', () => ends().length >= 3)
  expect(lines.some(({ message }) => message === 'nats-server is running again.')).toBe(true)
})

test('a stop ends it in order, and a restart that was under way does not happen', async () => {
  const { log, lines } = recordingLog()
  const broker = await startTestBroker({ home, log })
  const pid = broker.server.pid()!
  await broker[Symbol.asyncDispose]()
  expect(alive(pid)).toBe(false)
  expect(lines).toEqual([])
  expect(readFileSync(join(home, 'run', 'nats-server.log'), 'utf8')).toContain('Server Exiting')

  const next = await startTestBroker({ home })
  const killed = next.server.pid()!
  process.kill(killed, 'SIGKILL')
  await until('it is dead', () => !alive(killed))
  await next.server.stop()
  await next.server.stop()
  expect(next.server.pid()).toBeUndefined()
})

describe('the process that started it is killed with -9', () => {
  const script = join(import.meta.dirname, '../../support/broker-child.ts')
  let child: ChildProcess
  afterEach(() => child.kill('SIGKILL'))
  async function start(): Promise<{ pid: number; url: string }> {
    child = spawn(process.execPath, [script, home], { stdio: ['pipe', 'pipe', 'inherit'] })
    const [chunk] = (await once(child.stdout!, 'data')) as [Buffer]
    return JSON.parse(chunk.toString()) as { pid: number; url: string }
  }

  test('nats-server ends too, and nothing of it is left', async () => {
    const { pid } = await start()
    expect(alive(pid)).toBe(true)
    const guards = children(parentOf(pid))
    child.kill('SIGKILL')
    await until('nats-server is gone', () => !alive(pid))
    await until('its guards are gone', () => guards.every((guard) => !alive(guard)))
  })

  test('the next start waits for the server of the run before', async () => {
    const { pid } = await start()
    child.kill('SIGKILL')
    await once(child, 'exit')
    await using broker = await startTestBroker({ home })
    expect(alive(pid)).toBe(false)
    expect(broker.server.pid()).not.toBe(pid)
  })

  test('while it lives, a second start on the same folder is refused and does no harm', async () => {
    const { pid } = await start()
    const error = await failure(startTestBroker({ home }))
    expect(error).toBeInstanceOf(ConfigError)
    expect(error.message).toContain(home)
    expect(error.message).toContain(`process ${child.pid}`)
    expect(alive(pid)).toBe(true)
  })
})

/** Parent and children by /proc. */
const parentOf = (pid: number) =>
  Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1])
const children = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number)

describe('a pid file of an earlier run', () => {
  const leave = (pid: number | string) => {
    mkdirSync(join(home, 'run'), { recursive: true })
    writeFileSync(join(home, 'run', 'nats-server.pid'), String(pid))
  }

  test.each(['', 'x', '-1', '0', '4194304000'])('%j is passed over', async (text) => {
    leave(text)
    await using broker = await startTestBroker({ home })
    expect(broker.server.pid()).toBeGreaterThan(0)
  })

  test('that names another program by now does not harm it', async () => {
    leave(process.pid)
    await using broker = await startTestBroker({ home })
    expect(broker.server.pid()).not.toBe(process.pid)
  })

  test('that names the nats-server of another folder does not harm it', async () => {
    await using other = await startTestBroker()
    const pid = other.server.pid()!
    leave(pid)
    await using broker = await startTestBroker({ home })
    expect(alive(pid)).toBe(true)
    expect(broker.server.pid()).not.toBe(pid)
  })
})

describe('a port that is taken', () => {
  let taken: Server
  let port: number
  beforeEach(async () => {
    taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const address = taken.address()
    port = typeof address === 'object' && address !== null ? address.port : 0
  })
  afterEach(() => taken.close())

  test.each([
    ['port', 'port'],
    ['websocketPort', 'websocket_port'],
  ])('%s: one line with the port and the field %s', async (option, field) => {
    const error = await failure(startTestBroker({ home, messaging: { [option]: port } }))
    expect(error).toBeInstanceOf(ConfigError)
    expect(error.message).toBe(
      `messaging.config: port ${port} on 127.0.0.1 is in use by node (process ${process.pid}): stop it, or change ${field}`,
    )
  })

  test('between restarts: it tries on until the port is free', async () => {
    const { log, lines } = recordingLog()
    await using broker = await startTestBroker({ home, log })
    const ours = Number(new URL(broker.server.tcpUrl).port)
    const pid = broker.server.pid()!
    process.kill(pid, 'SIGKILL')
    const squatter = await until('the port is ours', async () => {
      const server = createServer().listen(ours, '127.0.0.1')
      return once(server, 'listening').then(
        () => server,
        () => undefined,
      )
    })
    await until('a start failed', () =>
      lines.some(({ message }) => message.includes('could not be restarted')),
    )
    squatter.close()
    const connection = await broker.connect('PLATFORM')
    expect(connection.isClosed()).toBe(false)
  })
})

test('a host that is not of this machine is refused with its field', async () => {
  const error = await failure(startTestBroker({ home, messaging: { host: '192.0.2.77' } }))
  expect(error).toBeInstanceOf(ConfigError)
  expect(error.message).toMatch(/: change host$/)
})

test('a server that does not start: its last words, nothing left running, no more tries', async () => {
  const { log, lines } = recordingLog()
  writeFileSync(join(home, 'file'), '')
  const error = await failure(startTestBroker({ home, messaging: { storeDir: join(home, 'file') }, log }))
  expect(error).toBeInstanceOf(ConfigError)
  expect(error.message).toContain('nats-server did not start')
  expect(error.message).toMatch(/not a directory/i)
  expect(error.message).not.toContain('\n')
  expect(lines).toEqual([])
})

test('a binary that is not there: one line', async () => {
  const identity = await createIdentity(smallLimits)
  const { log } = recordingLog()
  const start = startBroker({
    binary: '/nowhere/nats-server',
    runDir: join(home, 'run'),
    identity,
    messaging: messagingIn(home),
    log,
  })
  const error: unknown = await start.catch((error: unknown) => error)
  expect(error).toBeInstanceOf(ConfigError)
  expect((error as Error).message).toContain('/nowhere/nats-server')
  expect(existsSync(await natsServerPath())).toBe(true)
})

test.each(['::1', '0.0.0.0', '::'])('it listens on %s when told so', async (host) => {
  await using broker = await startTestBroker({ home, messaging: { host } })
  const connection = await broker.connect('PLATFORM')
  expect(connection.getServer()).toMatch(/:\d+$/)
  const url = new URL(broker.server.websocketUrl)
  expect(url.protocol).toBe('ws:')
  expect(url.port).not.toBe('')
})

test('other limits take effect at the next start', async () => {
  const identity = await createIdentity(smallLimits)
  await (await startTestBroker({ home, identity }))[Symbol.asyncDispose]()
  const larger = { maxMemBytes: 128 * 2 ** 20, maxFileBytes: 2 * 2 ** 30 }
  const signed = await withLimits(identity, larger)
  await using broker = await startTestBroker({ home, identity: signed, messaging: larger })
  const manager = await jetstreamManager(await broker.connect('PLATFORM'))
  expect((await manager.getAccountInfo()).limits.max_storage).toBe(larger.maxFileBytes)
})

test('nobody gets in without credentials of ours', async () => {
  await using broker = await startTestBroker({ home })
  const other = await createIdentity(smallLimits)
  for (const account of accounts) {
    const key = createKey('U')
    const jwt = userJwt(other, account, { publicKey: key.getPublicKey(), name: 'intruder' })
    const authenticator = jwtAuthenticator(jwt, key.getSeed())
    await expect(connect({ servers: broker.server.tcpUrl, authenticator })).rejects.toThrow('Authorization')
  }
  expect(readdirSync(join(home, 'jetstream'))).not.toContain(other.PLATFORM.account.getPublicKey())
})
