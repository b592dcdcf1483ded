import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseToken } from '../../broker/identity/token.ts'
import { lostAfterMs } from '../../subjects/extensions/model.ts'
import { extensions } from '../../subjects/extensions/extensions.ts'
import { keys } from '../../subjects/access/keys.ts'
import { createHome } from '../support/platform.ts'
import { until } from '../support/until.ts'
import { capabilitiesOf } from '../support/example-extension.ts'
import { Victim } from './victim.ts'

// Who calls an extension gets one clear answer to each call, whoever is killed; and all are there again by themselves.

/** How long it takes at most until all is as before, once broker and platform are back. */
const backWithinMs = 5_000
/** Who calls without a pause. */
const callers = 8
const slow = fileURLToPath(new URL('slow-extension.ts', import.meta.url))
/** The package `nats` of another generation, and nothing of ours. */
const greeter = fileURLToPath(new URL('../../examples/greeter.mjs', import.meta.url))

let home: string
let victim: Victim
/** Of a key that may be an extension, by prefix. */
const tokens: Record<string, string> = {}
/** Of who calls. */
let caller: string
const children = new Set<ChildProcess>()
beforeAll(async () => {
  home = await createHome()
  victim = new Victim(home)
  await victim.start()
  for (const prefix of ['slow', 'greeter']) {
    const made = await victim.call(keys.create, { name: prefix, capabilities: capabilitiesOf(prefix) })
    tokens[prefix] = made.token
  }
  const capabilities = { pub: { allow: ['gantry.>'] }, sub: { allow: ['gantry.>'] } }
  caller = (await victim.call(keys.create, { name: 'caller', capabilities })).token
})
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL')
  await victim[Symbol.asyncDispose]()
  rmSync(home, { recursive: true, force: true })
})

/** A process that is an extension, and is registered. */
async function start(file: string, prefix: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, [file], {
    env: { ...process.env, GANTRY_TOKEN: tokens[prefix] },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  children.add(child)
  for await (const line of createInterface(child.stdout))
    if (line === `${prefix} is registered`) {
      child.stdout.resume()
      return child
    }
  throw new Error(`${file} has ended`)
}

async function kill(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
  children.delete(child)
}

const instances = async (prefix: string): Promise<number> =>
  (await victim.call(extensions.list, {})).find((one) => one.prefix === prefix)?.instances ?? 0

/** What came of a call: a status and a code, or that there is no server at all. */
async function ask(path: string, body: object): Promise<string> {
  const { http } = parseToken(caller)!.location
  try {
    const response = await fetch(`${http}/api/v1/extensions/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${caller}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const answer: unknown = await response.json()
    return response.ok ? 'ok' : `${response.status} ${(answer as { code: string }).code}`
  } catch (error) {
    return `no server: ${((error as Error).cause as { code?: string } | undefined)?.code}`
  }
}
const wait = () => ask('slow/wait', {})
const hello = () => ask('greeter/hello', { name: 'Ada' })

/** Calls all the time, until it is stopped; the outcomes of each caller in order. */
function callAllTheTime() {
  const outcomes: string[][] = Array.from({ length: callers }, () => [])
  const over = new AbortController()
  const all = Promise.all(
    outcomes.map(async (mine) => {
      while (!over.signal.aborted) mine.push(await wait())
    }),
  )
  return {
    answered: () => outcomes.flat().filter((outcome) => outcome === 'ok').length,
    failures: () => outcomes.map((mine) => mine.filter((outcome) => outcome !== 'ok')),
    stop: async () => {
      over.abort()
      await all
    },
  }
}

/** Whether broker and platform are there: somebody is told who he is. */
async function isPlatformBack(): Promise<boolean> {
  const { http } = parseToken(caller)!.location
  const headers = { authorization: `Bearer ${caller}` }
  return fetch(`${http}/api/v1/apikey`, { headers }).then(
    ({ ok }) => ok,
    () => false,
  )
}

/** After broker and platform are there again, so are the extensions, each once. */
async function expectBack(): Promise<void> {
  await until('broker and platform are back', isPlatformBack)
  const sinceMs = Date.now()
  await until('they answer', async () => (await wait()) === 'ok' && (await hello()) === 'ok')
  await until('they are registered', async () => {
    return (await instances('slow')) === 1 && (await instances('greeter')) === 1
  })
  expect(Date.now() - sinceMs).toBeLessThan(backWithinMs)
}

test('kill -9 of one of two instances: no call fails but those that it had in hand', async () => {
  const [first, second] = [await start(slow, 'slow'), await start(slow, 'slow')]
  expect(await instances('slow')).toBe(2)
  const calls = callAllTheTime()
  await until('both work', () => calls.answered() > 10 * callers)
  await kill(first)
  const before = calls.answered()
  await until('it is noticed', async () => (await instances('slow')) === 1)
  await until('the other goes on', () => calls.answered() > before + 10 * callers)
  await calls.stop()
  for (const failures of calls.failures()) expect([[], ['504 TIMEOUT']]).toContainEqual(failures)
  expect(calls.failures().flat().length).toBeGreaterThan(0)
  await kill(second)
})

test('one that hangs is lost in time, and gets no more calls', async () => {
  const [hung, other] = [await start(slow, 'slow'), await start(slow, 'slow')]
  hung.kill('SIGSTOP')
  const stoppedMs = Date.now()
  // A deadline of its own: longer than anything else takes that a test waits for.
  while ((await instances('slow')) > 1) {
    expect(Date.now() - stoppedMs).toBeLessThan(lostAfterMs + backWithinMs)
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
  await until('its connection is closed', async () => {
    const many = await Promise.all(Array.from({ length: 4 * callers }, wait))
    return many.every((outcome) => outcome === 'ok')
  })
  hung.kill('SIGCONT')
  await until('it is back', async () => (await instances('slow')) === 2)
  await kill(hung)
  await kill(other)
})

test('kill -9 of the broker: calls have one clear answer each, and all are registered again', async () => {
  await start(slow, 'slow')
  await start(greeter, 'greeter')
  const calls = callAllTheTime()
  await until('it works', () => calls.answered() > 10 * callers)
  await victim.killBroker()
  await expectBack()
  await calls.stop()
  const failures = new Set(calls.failures().flat())
  expect([...failures].filter((one) => !/^(503 UNAVAILABLE|504 TIMEOUT)$/.test(one))).toEqual([])
  expect(failures.size).toBeGreaterThan(0)
})

test('kill -9 of the platform: the same, and nobody waits for a server that is gone', async () => {
  const calls = callAllTheTime()
  await until('it works', () => calls.answered() > 10 * callers)
  await victim.kill()
  await calls.stop()
  const failures = new Set(calls.failures().flat())
  expect([...failures].filter((one) => !/^no server: (ECONN\w+|UND_ERR_SOCKET)$/.test(one))).toEqual([])
  await victim.start()
  await expectBack()
})
