/**
 * How long a revocation takes until every connection of the key is gone, and what somebody who guesses tokens costs those
 * who have one. The platform runs in a process of its own; the load comes from here.
 */
import { wsconnect } from '@nats-io/nats-core'
import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { call } from '../broker/rpc/client.ts'
import { connectWithToken, type NatsConnection } from '../broker/rpc/connection.ts'
import { keys } from '../subjects/access/keys.ts'
import { inboxPrefix } from '../subjects/kit/names.ts'
import { startChild } from './child.ts'
import { guessesPerSecond } from './guess.ts'
import { print, quantile } from './figures.ts'

const revocations = 200
/** How long guesses come with no calls beside, to see what one costs. */
const costMs = 5_000
/** Calls of somebody with a right token, before the guesses and during them. */
const goodCalls = 2_000

interface Addresses {
  readonly httpUrls: { readonly platform: string }
  readonly tcpUrl: string
  readonly websocketUrl: string
  readonly operatorToken: string
}

const self = (url: string, token: string) =>
  fetch(`${url}/api/v1/apikey`, { headers: { authorization: `Bearer ${token}` } })

/** Milliseconds from the call to the end of the last of three connections: native, WebSocket, the edge's. */
async function revokeOnce(operator: NatsConnection, addresses: Addresses): Promise<number> {
  const { id, token } = await call(operator, keys.create, {
    name: 'revoked soon',
    capabilities: { pub: { allow: [keys.self.subject] }, sub: { allow: [] } },
  })
  const native = await connectWithToken(addresses.tcpUrl, token, { reconnect: false })
  const browser = await wsconnect({
    servers: addresses.websocketUrl,
    token,
    reconnect: false,
    inboxPrefix: inboxPrefix(id),
  })
  const before = await self(addresses.httpUrls.platform, token)
  if (before.status !== 200) throw new Error(`a new key was answered with ${before.status}`)
  const started = performance.now()
  await call(operator, keys.revoke, { id })
  await Promise.all([native.closed(), browser.closed()])
  const took = performance.now() - started
  return took
}

/** Milliseconds of each call, one after the other. */
async function callTimes({ httpUrls, operatorToken }: Addresses): Promise<number[]> {
  const times: number[] = []
  for (let count = 0; count < goodCalls; count++) {
    const started = performance.now()
    const { status } = await self(httpUrls.platform, operatorToken)
    if (status !== 200) throw new Error(`a right token was answered with ${status}`)
    times.push(performance.now() - started)
  }
  return times
}

/** Milliseconds of a processor that a process has used; Linux counts hundredths of a second. */
function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10
}

/** Milliseconds of a processor that one guess costs the platform. */
async function costOfGuess(pid: number): Promise<number> {
  const [before, began] = [cpuMs(pid), performance.now()]
  await delay(costMs)
  return (cpuMs(pid) - before) / (((performance.now() - began) / 1_000) * guessesPerSecond)
}

export async function benchAccess(): Promise<void> {
  await using platform = await startChild('platform.mjs')
  const addresses = JSON.parse(platform.line) as Addresses
  const operator = await connectWithToken(addresses.tcpUrl, addresses.operatorToken)
  const revoked: number[] = []
  for (let count = 0; count < revocations; count++) revoked.push(await revokeOnce(operator, addresses))
  await callTimes(addresses)
  const idle = quantile(await callTimes(addresses), 0.99)
  const guesser = await startChild('guess.ts', [addresses.httpUrls.platform, addresses.operatorToken])
  const guessed = quantile(await callTimes(addresses), 0.99)
  const cost = await costOfGuess(platform.pid)
  await guesser[Symbol.asyncDispose]()
  await operator.close()
  print('Access', [
    {
      name: 'revoke until every connection of the key is closed, p99 (p50)',
      value: `${quantile(revoked, 0.99).toFixed(1)} ms (${quantile(revoked, 0.5).toFixed(1)} ms)`,
      aim: '≤ 100 ms',
      details: `${revocations} keys with a native, a WebSocket and a REST connection each`,
    },
    {
      name: `p99 of right calls while ${guessesPerSecond} wrong tokens a second come ÷ idle`,
      value: (guessed / idle).toFixed(2),
      aim: '< 2',
      details: `${guessed.toFixed(1)} ms and ${idle.toFixed(1)} ms, ${goodCalls} calls each`,
    },
    {
      name: 'processor time of the platform for a wrong token',
      value: `${cost.toFixed(2)} ms`,
      aim: '–',
      details: `${guessesPerSecond} a second for ${costMs / 1_000} s`,
    },
  ])
}

if (import.meta.main) await benchAccess()
