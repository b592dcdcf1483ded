/**
 * A large platform for a while: 1,000 extensions with 10 endpoints each, 200 REST clients and 200 WebSocket clients that
 * call them. Reports errors, p99, memory, and how soon one more extension is visible everywhere. `npm run bench:load`;
 * GANTRY_LOAD_SECONDS (600), GANTRY_LOAD_EXTENSIONS (1000), GANTRY_LOAD_RATE (300 REST requests a second).
 */
import { wsconnect } from '@nats-io/nats-core'
import autocannon from 'autocannon'
import { setTimeout as delay } from 'node:timers/promises'
import { connect } from '../sdk/index.ts'
import { endpointPath } from '../subjects/extension-contract.ts'
import { keyIdOf } from '../broker/token.ts'
import { inboxPrefix } from '../subjects/names.ts'
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

const websocketMs: number[] = []
const problems: string[] = []
const endMs = Date.now() + seconds * 1_000

async function websocketClient(): Promise<void> {
  const connection = await wsconnect({
    servers: websocketUrl,
    token: operatorToken,
    inboxPrefix: inboxPrefix(keyIdOf(operatorToken)!),
  })
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
const restLoad = autocannon({
  url: httpUrls.platform,
  connections: clients,
  overallRate: rate,
  duration: seconds,
  headers,
  requests: [
    {
      setupRequest: (request) => {
        const [prefix = '', name = ''] = anyEndpoint()
        return { ...request, path: `${endpointPath(prefix, name)}?n=1` }
      },
    },
  ],
})
const websocketLoad = Promise.all(Array.from({ length: clients }, () => websocketClient()))
const [rest] = await Promise.all([restLoad, websocketLoad])
clearInterval(sampler)
const busy = await newcomersNow()

const quarter = Math.max(1, Math.floor(samples.length / 4))
const ms = (value: number) => `${value.toFixed(0)} ms`
const mb = (value: number) => `${value.toFixed(0)} MB`
const texts = (took: Record<string, number>) =>
  Object.entries(took)
    .map(([surface, value]) => `${surface} ${ms(value)}`)
    .join(', ')
const failures = rest.errors + rest.timeouts + rest.non2xx + problems.length
print(`${count} extensions, ${clients} REST and ${clients} WebSocket clients for ${seconds} s`, [
  {
    name: 'calls that failed',
    value: String(failures),
    aim: '0',
    details: `of ${rest.requests.total} over REST and ${websocketMs.length} over WebSocket ${[...new Set(problems)].slice(0, 3).join('; ')}`,
  },
  {
    name: 'REST → extension, p99 (p50)',
    value: `${ms(rest.latency.p99)} (${ms(rest.latency.p50)})`,
    aim: '–',
    details: `${rest.requests.average.toFixed(0)} a second, over all ${count * endpoints} endpoints`,
  },
  {
    name: 'WebSocket → extension, p99 (p50)',
    value:
      websocketMs.length === 0
        ? '–'
        : `${ms(quantile(websocketMs, 0.99))} (${ms(quantile(websocketMs, 0.5))})`,
    aim: '–',
    details: `${(websocketMs.length / seconds).toFixed(0)} a second`,
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
