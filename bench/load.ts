/**
 * A large platform for a while: 1,000 extensions with 10 endpoints each, 200 REST clients and 200 WebSocket clients that
 * call them. Reports errors, p99, memory, and how soon one more extension is visible everywhere. `npm run bench:load`;
 * GANTRY_LOAD_SECONDS (600), GANTRY_LOAD_EXTENSIONS (1000), GANTRY_LOAD_RATE (300 REST requests a second).
 */
import { type NatsConnection, wsconnect } from '@nats-io/nats-core'
import { Agent, get as httpGet, type IncomingMessage } from 'node:http'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { connect } from '../sdk/index.ts'
import { endpointPath } from '../subjects/extensions/contract.ts'
import { keyIdOf } from '../broker/identity/token.ts'
import { inboxPrefix } from '../subjects/kit/names.ts'
import { everything, issueInside } from '../test/support/keys.ts'
import type { TestPlatform } from '../test/support/platform.ts'
import { type Child, startChild } from './child.ts'
import { median, print, quantile } from './figures.ts'
import { residentMb } from './process.ts'

const setting = (name: string, usual: number): number => Number(process.env[`GANTRY_LOAD_${name}`] ?? usual)
const seconds = setting('SECONDS', 600)
const count = setting('EXTENSIONS', 1_000)
const rate = setting('RATE', 300)
const endpoints = 10
const clients = 200
/** Each REST client asks once in this time, all of them evenly: in bursts they would measure how long the burst is. */
const restPeriodMs = (clients / rate) * 1_000
/** Each WebSocket client asks once in this time. */
const pauseMs = 1_000
/** A person may own 200 prefixes. */
const prefixesOfOwner = 200
const newcomers = 5
const sampleMs = 2_000

const anyEndpoint = () => [
  `load${Math.floor(Math.random() * count)}`,
  `echo${Math.floor(Math.random() * endpoints)}`,
]

await using platform: Child = await startChild('platform.mjs')
const about = JSON.parse(platform.line) as Pick<
  TestPlatform,
  'home' | 'httpUrls' | 'tcpUrl' | 'websocketUrl' | 'operatorToken'
>
const { httpUrls, tcpUrl, websocketUrl, operatorToken } = about
const tokens: string[] = []
for (let index = 0; index <= Math.ceil(count / prefixesOfOwner); index++) {
  const issued = await issueInside(about as TestPlatform, {
    owner: `owner${index}`,
    capabilities: everything,
    visible_extensions: ['*'],
  })
  tokens.push(issued.token)
}
const ownToken = tokens.pop()!
const before = residentMb(platform.pid).now
await using extensions: Child = await startChild('load-extensions.ts', [
  JSON.stringify({ servers: tcpUrl, tokens, count, endpoints }),
])
const registeredMs = Number(extensions.line)
const withAll = residentMb(platform.pid).now

const headers = { authorization: `Bearer ${operatorToken}` }
const get = (path: string) => fetch(`${httpUrls.platform}${path}`, { headers })

/** How long it takes from a program's beginning until a new extension is there for everybody, by surface. */
async function newcomer(index: number): Promise<Record<string, number>> {
  const prefix = `new${index}`
  const took: Record<string, number> = {}
  const started = performance.now()
  const extension = (await connect({ prefix, version: '1.0.0', token: ownToken, servers: tcpUrl })).endpoint(
    { name: 'echo', summary: 'What it was asked' },
    (input, call) => call.respond(input),
  )
  await extension.ready()
  took['registered'] = performance.now() - started
  const surfaces: Record<string, () => Promise<boolean>> = {
    'REST call': async () => (await get(endpointPath(prefix, 'echo'))).status === 200,
    'list of extensions': async () =>
      (await (await get('/api/v1/extensions/all?limit=1000&after=new')).text()).includes(`"${prefix}"`),
    'OpenAPI document': async () =>
      (await (await get('/api/v1/openapi.json')).text()).includes(endpointPath(prefix, 'echo')),
  }
  for (const [surface, isThere] of Object.entries(surfaces)) {
    while (!(await isThere())) await delay(5)
    took[surface] = performance.now() - started
  }
  await extension.stop()
  return took
}

async function newcomersNow(): Promise<Record<string, number>> {
  const all: Record<string, number>[] = []
  for (let index = 0; index < newcomers; index++) all.push(await newcomer(index))
  return Object.fromEntries(
    Object.keys(all[0]!).map((surface) => [surface, Math.max(...all.map((one) => one[surface]!))]),
  )
}

const documentStarted = performance.now()
const documentBytes = (await (await get('/api/v1/openapi.json')).arrayBuffer()).byteLength
const documentMs = performance.now() - documentStarted
const idle = await newcomersNow()

const websocket = {
  servers: websocketUrl,
  token: operatorToken,
  inboxPrefix: inboxPrefix(keyIdOf(operatorToken)!),
}
const connections = await Promise.all(Array.from({ length: clients }, () => wsconnect(websocket)))

const restMs: number[] = []
const websocketMs: number[] = []
const problems: string[] = []
const endMs = Date.now() + seconds * 1_000

async function restClient(): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const ask = async () => {
    const [prefix = '', name = ''] = anyEndpoint()
    const request = httpGet(`${httpUrls.platform}${endpointPath(prefix, name)}?n=1`, { agent, headers })
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    await once(response.resume(), 'end')
    if (response.statusCode !== 200) problems.push(`status ${response.statusCode}`)
  }
  for (let dueMs = Date.now() + Math.random() * restPeriodMs; dueMs < endMs; dueMs += restPeriodMs) {
    const isLate = Date.now() > dueMs
    await delay(dueMs - Date.now())
    // Who waited for the last answer longer than until the next call was due waits for that one already.
    const lateMs = isLate ? Date.now() - dueMs : 0
    const started = performance.now()
    await ask().catch((error: unknown) => problems.push(String(error)))
    restMs.push(performance.now() - started + lateMs)
  }
  agent.destroy()
}

async function websocketClient(connection: NatsConnection): Promise<void> {
  await delay(Math.random() * pauseMs)
  while (Date.now() < endMs) {
    const [prefix, name] = anyEndpoint()
    const started = performance.now()
    try {
      await connection.request(`gantry.extensions.${prefix}.${name}`, '{"n":1}', { timeout: 10_000 })
      websocketMs.push(performance.now() - started)
    } catch (error) {
      problems.push(String(error))
    }
    await delay(pauseMs)
  }
  await connection.close()
}

const samples: number[] = []
const sampler = setInterval(() => samples.push(residentMb(platform.pid).now), sampleMs)
await Promise.all(connections.flatMap((connection) => [restClient(), websocketClient(connection)]))
clearInterval(sampler)
const busy = await newcomersNow()

const quarter = Math.max(1, Math.floor(samples.length / 4))
const ms = (value: number) => `${value.toFixed(0)} ms`
const mb = (value: number) => `${value.toFixed(0)} MB`
const texts = (took: Record<string, number>) =>
  Object.entries(took)
    .map(([surface, value]) => `${surface} ${ms(value)}`)
    .join(', ')
const latency = (figures: readonly number[]) =>
  figures.length === 0 ? '–' : `${ms(quantile(figures, 0.99))} (${ms(quantile(figures, 0.5))})`
const perSecond = (figures: readonly number[]) => `${(figures.length / seconds).toFixed(0)} a second`
print(`${count} extensions, ${clients} REST and ${clients} WebSocket clients for ${seconds} s`, [
  {
    name: 'calls that failed',
    value: String(problems.length),
    aim: '0',
    details: `of ${restMs.length} over REST and ${websocketMs.length} over WebSocket ${[...new Set(problems)].slice(0, 3).join('; ')}`,
  },
  {
    name: 'REST → extension, p99 (p50)',
    value: latency(restMs),
    aim: '–',
    details: `${perSecond(restMs)}, over all ${count * endpoints} endpoints`,
  },
  {
    name: 'WebSocket → extension, p99 (p50)',
    value: latency(websocketMs),
    aim: '–',
    details: perSecond(websocketMs),
  },
  {
    name: 'resident memory of the platform, last quarter ÷ second quarter',
    value: (median(samples.slice(-quarter)) / median(samples.slice(quarter, 2 * quarter))).toFixed(2),
    aim: '≤ 1.1',
    details: `${mb(before)} without extensions, ${mb(withAll)} with all, ${mb(median(samples.slice(-quarter)))} at the end`,
  },
  {
    name: 'one more extension is visible everywhere, the slowest of each',
    value: ms(Math.max(...Object.values(idle), ...Object.values(busy))),
    aim: '< 1,000 ms',
    details: `before the load: ${texts(idle)}; after: ${texts(busy)}`,
  },
  {
    name: 'all extensions registered',
    value: ms(registeredMs),
    aim: '–',
    details: `OpenAPI document of ${(documentBytes / 1e6).toFixed(1)} MB in ${ms(documentMs)}`,
  },
])
