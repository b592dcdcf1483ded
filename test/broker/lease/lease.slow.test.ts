import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Kvm } from '@nats-io/kv'
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest'
import { ConfigError } from '../../../config/config-error.ts'
import { type Holder, lifeOf, setActive, thisHolder } from '../../../broker/lease/holder.ts'
import { createIdentity } from '../../../broker/identity/create-identity.ts'
import { Lease } from '../../../broker/lease/lease.ts'
import { StoreClaim } from '../../../broker/lease/store-claim.ts'
import { messagingIn, startTestBroker } from '../../support/broker.ts'
import { blocksOf, flipBit } from '../../support/damage.ts'
import { testLog } from '../../support/platform.ts'
import { until } from '../../support/until.ts'

const broker = await startTestBroker()
afterAll(() => broker[Symbol.asyncDispose]())

/** Long enough for a busy machine to renew it. */
const leaseMs = 4_000
const options = { leaseMs, log: testLog }

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gantry-lease-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

/** One whose process nobody here can ask about. */
const elsewhere = (): Holder => ({ ...thisHolder(), host: 'another-host' })

/** One whose process has ended. */
async function gone(): Promise<Holder> {
  const child = spawn('true')
  await once(child, 'exit')
  return { ...thisHolder(), pid: child.pid! }
}

/** Takes the lease; what becomes of it is in `lost`. */
async function take(holder: Holder, more: { ended?: Holder; leaseMs?: number } = {}) {
  const lost: string[] = []
  const connection = await broker.connect('PLATFORM')
  const onLost = (reason: string) => void lost.push(reason)
  const lease = await Lease.take(connection, { ...options, onLost, holder, ...more })
  return { lease, lost }
}

const refusal = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  )

test('a lease that is held is refused, with its holder and since when; one that was given back is not', async () => {
  const holder = elsewhere()
  const first = await take(holder)
  const error = await refusal(take(thisHolder()))
  expect(error).toBeInstanceOf(ConfigError)
  expect((error as Error).message).toContain(`process ${holder.pid} on another-host, since ${holder.since}`)
  await first.lease.release()
  const second = await take(thisHolder())
  expect(second.lease.epoch).toBeGreaterThan(first.lease.epoch)
  expect(first.lost).toEqual([])
  await second.lease.release()
})

test('a holder that runs on this host is refused at once, and one that was killed needs no wait', async () => {
  const running = { ...thisHolder() }
  setActive(running, true)
  const first = await take(running)
  expect(await refusal(take(thisHolder()))).toBeInstanceOf(ConfigError)
  setActive(running, false)
  await first.lease.release()
  const dead = await take(await gone())
  // A wait would take longer than this test may.
  const next = await take(thisHolder(), { leaseMs: 600_000 })
  // The one before sees that somebody else has it.
  await until('it is lost', () => dead.lost[0])
  expect(dead.lost[0]).toContain('it was acquired by')
  await next.lease.release()
})

test('a holder elsewhere is waited for as long as its own lease lasts', async () => {
  const holder = await take(elsewhere(), { leaseMs: 20_000 })
  // Shorter than the time between two renewals of the holder.
  expect(await refusal(take(thisHolder(), { leaseMs: 500 }))).toBeInstanceOf(ConfigError)
  expect(holder.lost).toEqual([])
  await holder.lease.release()
})

test('a holder elsewhere that is silent for the time of a lease has ended', async () => {
  const kv = await new Kvm(await broker.connect('PLATFORM')).create('lease')
  await kv.put('platform', JSON.stringify({ epoch: 41, holder: elsewhere() }))
  const next = await take(thisHolder())
  expect(next.lease.epoch).toBe(42)
  await next.lease.release()
})

test('a lease outlasts the death of the broker', async () => {
  const { lease, lost } = await take(elsewhere())
  await broker.kill()
  expect(await refusal(take(thisHolder()))).toBeInstanceOf(ConfigError)
  expect(lost).toEqual([])
  await lease.release()
})

test.each([0.05, 0.35, 0.9])('a lease that is damaged at %f of its block can be taken', async (share) => {
  const home = mkdtempSync(join(tmpdir(), 'gantry-lease-store-'))
  const identity = await createIdentity(messagingIn(home))
  const takeIn = async () => {
    await using store = await startTestBroker({ home, identity })
    const connection = await store.connect('PLATFORM')
    const lease = await Lease.take(connection, { ...options, onLost: () => undefined })
    await lease.release()
    return lease.epoch
  }
  const first = await takeIn()
  for (const block of blocksOf(home, 'KV_lease')) flipBit(block, share)
  expect(await takeIn()).toBeGreaterThanOrEqual(first)
  rmSync(home, { recursive: true })
})

test('a process that was paused for longer than its lease has lost it', async () => {
  const { lease, lost } = await take(elsewhere())
  // Nothing else of this process runs meanwhile, as if it had been stopped.
  const endMs = performance.now() + leaseMs
  while (performance.now() < endMs);
  await until('it is lost', () => lost[0])
  expect(lost).toEqual([expect.stringMatching(/this process was paused for \d+ s/)])
  await lease.release()
})

test('the store is claimed by one process', async () => {
  const first = await StoreClaim.make(folder, options)
  const error = await refusal(StoreClaim.make(folder, options))
  expect((error as Error).message).toContain(`process ${process.pid}`)
  expect((error as Error).message).toContain(first.holder.since)
  first.release()
  const second = await StoreClaim.make(folder, options)
  expect(second.ended).toBeUndefined()
  second.release()
})

test('a claim that another has taken meanwhile is lost and left to it; one that vanished is made again', async () => {
  const file = join(folder, 'gantry.lock')
  const lost: string[] = []
  const claim = await StoreClaim.make(folder, { ...options, onLost: (reason) => lost.push(reason) })
  rmSync(file)
  await until('it is there again', () => existsSync(file))
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(claim.holder)
  expect(lost).toEqual([])
  // As after this process was stopped for minutes.
  const other = elsewhere()
  writeFileSync(`${file}.other`, JSON.stringify(other))
  renameSync(`${file}.other`, file)
  utimesSync(file, 1, 1)
  await until('it is lost', () => lost[0])
  expect(lost[0]).toContain(`the store is claimed by process ${other.pid} on ${other.host}`)
  expect(statSync(file).mtimeMs).toBe(1_000)
  claim.release()
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(other)
  rmSync(file)
})

test('a claim of a process that is gone, or one that is silent elsewhere, is taken over', async () => {
  const file = join(folder, 'gantry.lock')
  const dead = await gone()
  expect(lifeOf(dead)).toBe('gone')
  for (const before of [dead, elsewhere()]) {
    writeFileSync(file, JSON.stringify(before))
    const claim = await StoreClaim.make(folder, options)
    expect(claim.ended).toEqual(before)
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(claim.holder)
    claim.release()
  }
  // Cut off when the machine went down.
  writeFileSync(file, '{"id":')
  ;(await StoreClaim.make(folder, options)).release()
})

test('of several that find a claim of a process that is gone at the same moment, one takes it over', async () => {
  const file = join(folder, 'gantry.lock')
  const dead = await gone()
  // With one that was killed while it was taking over, too.
  for (const killed of [undefined, await gone()]) {
    writeFileSync(file, JSON.stringify(dead))
    if (killed !== undefined) writeFileSync(`${file}.${dead.id}`, JSON.stringify(killed))
    const claims = await Promise.allSettled([1, 2, 3].map(() => StoreClaim.make(folder, options)))
    const made = claims.flatMap((claim) => (claim.status === 'fulfilled' ? [claim.value] : []))
    expect(made.map(({ holder }) => holder)).toEqual([JSON.parse(readFileSync(file, 'utf8'))])
    for (const claim of claims)
      if (claim.status === 'rejected') expect(claim.reason).toBeInstanceOf(ConfigError)
    made[0]?.release()
    expect(readdirSync(folder)).toEqual([])
  }
})
