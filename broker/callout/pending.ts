import { setTimeout as delay } from 'node:timers/promises'
import type { NatsConnection } from '@nats-io/transport-node'
import { type AddressMarks, originOfConnection } from '../messages/client-address.ts'
import { isKeyId } from '../../subjects/access/token.ts'
import type { Identity } from '../identity/identity.ts'
import { kick } from './kick.ts'
import type { Log } from '../common/log.ts'
import { every } from '../tasks/tasks.ts'

/** What nats-server may hold for connections of keys that do not read, all together. */
export const maxHeldBytes = 256 * 2 ** 20
/** What waits for a service that keeps up is what its callers have asked at this moment: some hundred kB. */
const behindBytes = 8 * 2 ** 20
/** While what it holds is more than this and grows, it is asked again soon: a flood brings hundreds of MB between two regular looks. */
const flood = { heldBytes: maxHeldBytes / 8, everyMs: 20 }
/**
 * Processor time in which nats-server cannot take so much in, which would be a copy of gigabytes a second: as long as it has
 * used no more since a look that found nothing, it is not asked. One that nobody uses takes some seconds for that.
 */
const quietMs = 30
/** Connections in one answer of the server, those first for which it holds the most. */
const listed = 256
/** The server answers in a millisecond. */
const timeoutMs = 2_000

interface Listed {
  readonly cid: number
  readonly ip?: string
  readonly name?: string
  readonly account?: string
  readonly authorized_user?: string
  readonly pending_bytes: number
}

interface ConnectionList {
  readonly data?: { readonly connections?: readonly Listed[]; readonly total?: number }
}

/** A connection that was closed because it did not read. */
export interface SlowReader {
  readonly keyId: string
  readonly from: string | undefined
  readonly reason: string
}

export interface PendingOptions {
  readonly identity: Pick<Identity, 'GANTRY' | 'AGENTS' | 'PLATFORM'>
  readonly marks: AddressMarks
  /** Connections on which services are asked, by name. */
  readonly services: ReadonlySet<string>
  /** Processor time of nats-server since its start, ms; undefined where nobody knows: then it is asked each time. */
  readonly processorMs: () => number | undefined
  /** Whether more waits for a service than those who wait for answers can have asked. */
  readonly onBehind: (isBehind: boolean) => void
  readonly onSlowReader: (reader: SlowReader) => void
  readonly log: Log
}

/**
 * Looks at what nats-server holds for connections that do not read it yet. It knows no limit of all of them together, so
 * those of keys are closed here for which it holds the most, as long as that is too much.
 * @param system a connection in the SYS account
 */
export function watchPending(
  system: NatsConnection,
  { identity, marks, services, processorMs, onBehind, onSlowReader, log }: PendingOptions,
): { stop(): void } {
  const ofKeys = new Set([identity.GANTRY, identity.AGENTS].map(({ account }) => account.getPublicKey()))
  const own = identity.PLATFORM.account.getPublicKey()
  const ask = async (
    server: string,
    options: object,
  ): Promise<{ connections: readonly Listed[]; total: number }> => {
    const request = JSON.stringify({ sort: 'pending', ...options })
    const reply = await system.request(`$SYS.REQ.SERVER.${server}.CONNZ`, request, { timeout: timeoutMs })
    const { connections = [], total = connections.length } = reply.json<ConnectionList>().data ?? {}
    return { connections, total }
  }
  const over = new AbortController()
  /** Whether the last look found nothing to speak of. */
  let isCalm = false
  const look = async (): Promise<number> => {
    const server = system.info?.server_id ?? ''
    // Nearly always that is all: whose connections they are makes the answer a hundred times as long.
    const {
      connections: [largest],
      total,
    } = await ask(server, { limit: 1 })
    isCalm = largest === undefined || largest.pending_bytes * total <= flood.heldBytes
    if (isCalm) {
      onBehind(false)
      return 0
    }
    const connections: Listed[] = []
    // A little for each of thousands is as much as all for one.
    for (let rest = Infinity; rest > flood.heldBytes;) {
      const page = await ask(server, { auth: true, limit: listed, offset: connections.length })
      connections.push(...page.connections)
      rest = (page.connections.at(-1)?.pending_bytes ?? 0) * (page.total - connections.length)
    }
    const isBehind = (one: Listed) =>
      one.pending_bytes > behindBytes && one.account === own && services.has(one.name ?? '')
    onBehind(connections.some(isBehind))
    // Those of the platform itself are in these accounts too; what the edge has for a key stands for this key alone.
    const held = connections.filter(
      ({ account, authorized_user }) => ofKeys.has(account ?? '') && isKeyId(authorized_user ?? ''),
    )
    const heldBytes = held.reduce((sum, { pending_bytes }) => sum + pending_bytes, 0)
    const closed: Promise<void>[] = []
    let excessBytes = heldBytes - maxHeldBytes
    for (const { cid, ip, name, authorized_user: keyId = '', pending_bytes } of held) {
      if (excessBytes <= 0) break
      const { address } = originOfConnection(marks, { name, host: ip, keyId })
      excessBytes -= pending_bytes
      const told = () => {
        log.warn(
          { key: keyId, from: address, pending_bytes },
          'Closed a connection that did not read its messages.',
        )
        onSlowReader({ keyId, from: address, reason: 'it did not read the messages of its subscriptions' })
      }
      closed.push(kick(system, server, cid).then(told))
    }
    await Promise.all(closed)
    return heldBytes
  }
  const lookUntilCalm = async (): Promise<void> => {
    // What neither grows nor is too much is looked at in its time: connections that read slowly are no flood.
    for (let before = flood.heldBytes, held = await look(); held > Math.min(before, maxHeldBytes);) {
      await delay(flood.everyMs, undefined, { signal: over.signal })
      before = held
      held = await look()
    }
  }
  /** What nats-server had used before the last look. */
  let usedMs: number | undefined
  const isQuiet = (nowMs: number | undefined): boolean =>
    // One that was started again has used less.
    nowMs !== undefined && usedMs !== undefined && nowMs >= usedMs && nowMs - usedMs < quietMs
  const task = every('broker.pending', async () => {
    const nowMs = processorMs()
    if (isCalm && isQuiet(nowMs)) return
    isCalm = false
    usedMs = nowMs
    try {
      await lookUntilCalm()
    } catch (err) {
      // A broker that is away holds nothing.
      log.debug({ err }, 'The broker did not report its pending messages.')
    }
  })
  return {
    stop: () => {
      over.abort()
      task.stop()
    },
  }
}
