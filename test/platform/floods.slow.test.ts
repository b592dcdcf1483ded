import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { residentMb } from '../../bench/process.ts'
import { clientLimits, maxSubscriptions } from '../../broker/identity/account-jwts.ts'
import { call } from '../../broker/rpc/client.ts'
import { connectWithToken } from '../../broker/rpc/connection.ts'
import { maxHeldBytes } from '../../broker/callout/pending.ts'
import { audit } from '../../subjects/access/audit.ts'
import { keys } from '../../subjects/access/keys.ts'
import { isGantryError } from '../../subjects/kit/errors.ts'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { inboxPrefix } from '../../subjects/kit/names.ts'
import { platform as platformContracts } from '../../subjects/platform/platform.ts'
import { createClient, createKey, everything, issueInside } from '../support/keys.ts'
import { startTestPlatform, type TestPlatform } from '../support/platform.ts'
import { connectRaw } from '../support/raw-nats.ts'
import { until } from '../support/until.ts'

let platform: TestPlatform
beforeAll(async () => {
  platform = await startTestPlatform()
})
afterAll(() => platform[Symbol.asyncDispose]())

/** A machine that does much else takes its time, and no call is wrong for that. */
const patienceMs = 60_000
const floodMs = 180_000

/** A process that sends as fast as it can, until it is disposed of. */
async function flood(token: string, subject: string, bytes: number): Promise<AsyncDisposable> {
  const program = fileURLToPath(new URL('../support/flooder.ts', import.meta.url))
  const args = [program, platform.tcpUrl, token, subject, String(bytes), '4', 'answers']
  const child: ChildProcess = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  await once(child.stdout!, 'data')
  return {
    [Symbol.asyncDispose]: async () => {
      const exited = once(child, 'exit')
      child.stdin!.end()
      await exited
    },
  }
}

/** Undefined while it is not, and while the service that is asked waits for a broker that has much to do. */
const recorded = async (what: string, key: string) => {
  try {
    return (await call(platform.operator, audit.list, { what, key }, { timeoutMs: patienceMs })).records[0]
  } catch (error) {
    if (!isGantryError(error, 'UNAVAILABLE')) throw error
    return undefined
  }
}

describe('a key that floods', { timeout: floodMs }, () => {
  test.each([
    ['a service with messages of 1 MB', migrations.list.subject, 1_000_000],
    ['a service with messages of 200 bytes', migrations.list.subject, 200],
    ['discovery', '$SRV.PING', 200],
  ])('%s: the calls of others are right, and it is kept out', async (_, subject, bytes) => {
    const { id, token } = await createKey(platform, everything)
    await using other = await createClient(platform, everything)
    const ways = {
      ping: () => call(other.connection, platformContracts.ping, {}, { timeoutMs: patienceMs }),
      state: () => call(other.connection, keys.self, {}, { timeoutMs: patienceMs }),
      // The broker may end the connection of the service that is flooded with large messages.
      ...(bytes < 1_000 && {
        'the same service': () => call(other.connection, migrations.list, {}, { timeoutMs: patienceMs }),
      }),
    }
    const over = new AbortController()
    const answers: Record<string, number> = {}
    const callers = Object.entries(ways).map(async ([name, ask]) => {
      while (!over.signal.aborted || (answers[name] ?? 0) < 20) {
        await ask()
        answers[name] = (answers[name] ?? 0) + 1
      }
    })
    const flooding = (async () => {
      await using _flooder = await flood(token, subject, bytes)
      const record = await until('it is in the audit log', () => recorded('flood', id))
      // It connects again as long as it lives.
      return { record, refused: await until('it was refused', () => recorded('connect', id)) }
    })()
    const [{ record, refused }] = await Promise.all([flooding.finally(() => over.abort()), ...callers])
    expect(record).toMatchObject({
      kind: 'key',
      key: id,
      user: 'local:operator',
      from: '127.0.0.1',
      result: 'THROTTLED',
      reason: expect.stringMatching(/^more than \d+ requests or \d+ MiB per second$/),
    })
    expect(refused).toMatchObject({
      result: 'THROTTLED',
      reason: 'the key has just flooded the services with requests',
    })
  })

  test('many calls at once that wait for their answers are no flood', async () => {
    await using busy = await createClient(platform, everything)
    const callers = Array.from({ length: 256 }, async () => {
      for (let asked = 0; asked < 40; asked++)
        await call(busy.connection, platformContracts.ping, {}, { timeoutMs: patienceMs })
    })
    await Promise.all(callers)
    expect(await recorded('flood', busy.keyId)).toBeUndefined()
  })
})

test(
  'bodies that take the edge long to read count for their key, also where nothing is passed on',
  { timeout: floodMs },
  async () => {
    const [flooding, other] = await Promise.all(
      ['mallory', 'ada'].map((owner) => issueInside(platform, { owner, capabilities: everything })),
    )
    // As many values as fit into a body, which is no JSON at its end.
    const body = '{},'.repeat(2 ** 20 / 3)
    const send = async (token: string) => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
      const url = `${platform.httpUrls.platform}/api/v1/keys`
      const reply = await fetch(url, { method: 'POST', headers, body: `[${body}` })
      await reply.arrayBuffer()
      return reply.status
    }
    expect(await send(flooding!.token)).toBe(400)
    // Whoever has little of a processor never spends more than it is given meanwhile: no time passes.
    using _clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now())
    await until('it is refused', async () => {
      const statuses = await Promise.all(Array.from({ length: 8 }, () => send(flooding!.token)))
      return statuses.includes(429)
    })
    expect(await send(other!.token)).toBe(400)
  },
)

test('nobody who reads one large page after the other is held up', { timeout: floodMs }, async () => {
  const rules = Array.from({ length: 200 }, (_, n) => `gantry.extensions.${'x'.repeat(180)}.${n}`)
  const { token } = await issueInside(platform, { owner: 'lister', capabilities: everything })
  for (let n = 0; n < 40; n++)
    await issueInside(platform, {
      owner: 'lister',
      capabilities: { pub: { allow: rules }, sub: { allow: [] } },
    })
  const lister = await connectWithToken(platform.tcpUrl, token, { reconnect: false })
  let bytes = 0
  for (let n = 0; n < 60; n++)
    bytes += JSON.stringify(await call(lister, keys.list, { limit: 40 }, { timeoutMs: patienceMs })).length
  await lister.close()
  expect(bytes).toBeGreaterThan(60 * 2 ** 20)
})

describe('a connection of a key', () => {
  test('that sends more than the largest input at once is closed', async () => {
    const { id, token } = await createKey(platform, everything)
    await using raw = await connectRaw(platform.tcpUrl, token, `${inboxPrefix(id)}.>`)
    raw.write(`PUB ${migrations.list.subject} ${clientLimits.payload + 1}\r\n`)
    await raw.answer(/-ERR 'Maximum Payload Violation'/)
  })

  test('has a limit of subscriptions', async () => {
    const { id, token } = await createKey(platform, everything)
    await using raw = await connectRaw(platform.tcpUrl, token, `${inboxPrefix(id)}.>`)
    const more = Array.from(
      { length: maxSubscriptions },
      (_, index) => `SUB gantry.x.${index} ${index + 2}\r\n`,
    )
    raw.write(more.join(''))
    await raw.answer(/-ERR 'maximum subscriptions exceeded'/)
  })
})

/** A connection that subscribes and then reads nothing more. */
async function connectDeaf(token: string, subject: string): Promise<Socket> {
  const { hostname, port } = new URL(platform.tcpUrl)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  let received = ''
  socket.on('data', (data: Buffer) => (received += data.toString()))
  socket.write(
    `CONNECT ${JSON.stringify({ auth_token: token, verbose: false })}\r\nSUB ${subject} 1\r\nPING\r\n`,
  )
  await until('it is subscribed', () => received.includes('PONG'))
  socket.removeAllListeners('data')
  return socket.pause()
}

test('what the broker holds for those who do not read is bounded', { timeout: floodMs }, async () => {
  const deafConnections = 40
  const { id, token } = await createKey(platform, everything)
  const subject = 'gantry.extensions.deaf.x'
  const deaf = await Promise.all(Array.from({ length: deafConnections }, () => connectDeaf(token, subject)))
  const pid = platform.brokerPid()!
  const before = residentMb(pid).now
  {
    await using _flooder = await flood(token, subject, 1_000_000)
    const record = await until('it is in the audit log', () => recorded('slow-reader', id))
    expect(record).toMatchObject({ key: id, reason: 'it did not read the messages of its subscriptions' })
  }
  expect(residentMb(pid).highest - before).toBeLessThan((8 * maxHeldBytes) / 1e6)
  for (const socket of deaf) socket.destroy()
})

test('a little for each of hundreds that do not read is bounded as well', { timeout: floodMs }, async () => {
  const { id, token } = await createKey(platform, everything)
  const subject = 'gantry.extensions.deaf.y'
  const deaf = await Promise.all(Array.from({ length: 300 }, () => connectDeaf(token, subject)))
  await using raw = await connectRaw(platform.tcpUrl, token, `${inboxPrefix(id)}.>`)
  for (let sent = 0; sent < 8; sent++) raw.write(`PUB ${subject} 1000000\r\n${'x'.repeat(1_000_000)}\r\n`)
  await until('it is in the audit log', () => recorded('slow-reader', id))
  for (const socket of deaf) socket.destroy()
})
