import type { NatsConnection } from '@nats-io/transport-node'
import { expect, test } from 'vitest'
import { addressMarks, edgeName } from '../../../broker/messages/client-address.ts'
import { createIdentity } from '../../../broker/identity/create-identity.ts'
import { maxHeldBytes, watchPending } from '../../../broker/callout/pending.ts'
import { testLog } from '../../support/platform.ts'
import { until } from '../../support/until.ts'

const identity = await createIdentity({ maxMemBytes: 64e6, maxFileBytes: 1e9 })
const marks = addressMarks(identity)

interface Connection {
  readonly cid: number
  readonly name?: string
  readonly authorized_user: string
  readonly pending_bytes: number
}

/**
 * Looks at a server with these connections of the account of keys, until something holds.
 * @param processorMs of the server @returns the numbers of the connections that were closed, and how often it was asked
 */
async function lookAt(
  connections: readonly Connection[],
  isOver: (looks: number) => boolean,
  processorMs: () => number | undefined = () => undefined,
) {
  const closed: number[] = []
  const account = identity.GANTRY.account.getPublicKey()
  const all = connections
    .map((connection) => ({ ...connection, ip: '127.0.0.1', account }))
    .toSorted((a, b) => b.pending_bytes - a.pending_bytes)
  let looks = 0
  const request = (subject: string, body: string) => {
    const { cid, limit, offset = 0 } = JSON.parse(body) as { cid?: number; limit?: number; offset?: number }
    if (subject.endsWith('.KICK')) closed.push(cid!)
    else if (limit === 1) looks += 1
    const there = all.filter((connection) => !closed.includes(connection.cid))
    const page = there.slice(offset, offset + (limit ?? 0))
    return Promise.resolve({ json: () => ({ data: { connections: page, total: there.length } }) })
  }
  const systemDouble = { info: { server_id: 'S' }, request } as unknown as NatsConnection
  const watch = watchPending(systemDouble, {
    identity,
    marks,
    services: new Set(),
    processorMs,
    onBehind: () => undefined,
    onSlowReader: () => undefined,
    log: testLog,
  })
  await until('it has looked', () => isOver(looks))
  watch.stop()
  return { closed, looks }
}

const closedOf = async (connections: readonly Connection[]) =>
  (await lookAt(connections, (looks) => looks > 1)).closed

const token = `gantry.${Buffer.from('{"i":"i","n":"n","h":"h"}').toString('base64url')}.kflooder.s`
const reader = { authorized_user: 'kreader', pending_bytes: 0 }
const ofPlatform = { authorized_user: identity.calloutUser.getPublicKey(), pending_bytes: 6 }

test('nobody who reads is closed for what is held for the edge, but the connection that it is held for', async () => {
  const name = edgeName(marks, '192.0.2.1', token)
  const flooded = { cid: 1, name, authorized_user: 'kflooder', pending_bytes: 2 * maxHeldBytes }
  expect(await closedOf([flooded, { cid: 2, ...reader }, { cid: 3, ...ofPlatform }])).toEqual([1])
})

test('connections of the platform itself are never closed, and nobody is closed for what is held for them', async () => {
  const own = { cid: 1, ...ofPlatform, pending_bytes: 2 * maxHeldBytes }
  expect(await closedOf([own, { cid: 2, ...reader }])).toEqual([])
})

test('a server that has not worked since it held nothing is not asked again; one that has, or has begun again, is', async () => {
  const spent = [1_000, 1_000, 1_020, 1_100, 1_110, 10, 20, 30]
  let periods = 0
  const processorMs = () => spent[periods++]
  const { looks } = await lookAt([{ cid: 1, ...reader }], () => periods === spent.length, processorMs)
  expect(looks).toBe(3)
})

test('a server that holds much is asked in each period, however little it works', async () => {
  let periods = 0
  const processorMs = () => {
    periods += 1
    return 1_000
  }
  const slow = { cid: 1, ...reader, pending_bytes: maxHeldBytes / 2 }
  const { looks } = await lookAt([slow], () => periods === 3, processorMs)
  // Twice in the first period, as it may be growing.
  expect(looks).toBeGreaterThan(2)
})
