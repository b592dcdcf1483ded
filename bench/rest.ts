/**
 * Requests a second of the whole REST stack (Fastify, the token's own connection, import with identity, schema check both
 * ways, reply) against a bare Fastify → NATS echo; and the time to connect with a token. Both servers run in processes of
 * their own; the load comes from here, 64 connections, in turns.
 */
import autocannon from 'autocannon'
import { connectWithToken } from '../broker/rpc/connection.ts'
import { endpointPath } from '../subjects/extensions/contract.ts'
import { type Child, startChild } from './child.ts'
import { median, print, quantile } from './figures.ts'

const rounds = 5
const seconds = 4
const connections = 64
const connects = 300

async function load(url: string, token?: string): Promise<number> {
  const result = await autocannon({
    url,
    connections,
    duration: seconds,
    ...(token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } }),
  })
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`${url}: ${result.non2xx} refused, ${result.errors} failed`)
  return result.requests.average
}

export async function benchRest(): Promise<void> {
  await using echo: Child = await startChild('echo.ts')
  await using platform: Child = await startChild('platform.mjs')
  const { httpUrls, tcpUrl, operatorToken } = JSON.parse(platform.line) as {
    httpUrls: { platform: string }
    tcpUrl: string
    operatorToken: string
  }
  const full = `${httpUrls.platform}/api/v1/ping`
  const own = `${httpUrls.platform}/api/v1/roles`
  await using extensions: Child = await startChild('load-extensions.ts', [
    JSON.stringify({ servers: tcpUrl, tokens: [operatorToken], count: 1, endpoints: 1 }),
  ])
  if (extensions.line === '') throw new Error('the extension is not registered')
  const extension = `${httpUrls.platform}${endpointPath('load0', 'echo0')}?n=1`
  await load(echo.line)
  await load(full)
  const figures: { bare: number; full: number; own: number; extension: number }[] = []
  for (let round = 0; round < rounds; round++) {
    figures.push({
      bare: await load(echo.line),
      full: await load(full),
      own: await load(own, operatorToken),
      extension: await load(extension, operatorToken),
    })
  }
  const ratios = figures.map((figure) => figure.full / figure.bare)
  const connectMs: number[] = []
  for (let index = 0; index < connects; index++) {
    const started = performance.now()
    const connection = await connectWithToken(tcpUrl, operatorToken)
    connectMs.push(performance.now() - started)
    await connection.close()
  }
  const perSecond = (values: number[]) => `${Math.round(median(values)).toLocaleString('en')}/s`
  print('REST and connections', [
    {
      name: 'ping over the whole stack ÷ bare Fastify → NATS echo, 64 connections',
      value: median(ratios).toFixed(2),
      aim: '≥ 0.9',
      details: `${perSecond(figures.map((one) => one.full))} and ${perSecond(figures.map((one) => one.bare))}`,
    },
    {
      name: 'the same for a call that reads state (own roles)',
      value: median(figures.map((one) => one.own / one.bare)).toFixed(2),
      aim: '–',
      details: perSecond(figures.map((one) => one.own)),
    },
    {
      name: 'REST → extension in a process of its own ÷ bare Fastify → NATS echo',
      value: median(figures.map((one) => one.extension / one.bare)).toFixed(2),
      aim: '≥ 0.8',
      details: perSecond(figures.map((one) => one.extension)),
    },
    {
      name: 'connect with a token, p50 (p99)',
      value: `${quantile(connectMs, 0.5).toFixed(1)} ms (${quantile(connectMs, 0.99).toFixed(1)} ms)`,
      aim: '≤ 2.5 ms',
      details: `${connects} one after the other`,
    },
  ])
}

if (import.meta.main) await benchRest()
