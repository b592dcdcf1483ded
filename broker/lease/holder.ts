import { readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { type Static, Type } from 'typebox'
import { ConfigError } from '../../config/config-error.ts'
import { readTextFile } from '../common/files.ts'
import type { Log } from '../common/log.ts'
import { processStat } from '../common/process-stat.ts'

/** A process that runs the platform, so that others can tell whether it still does. */
export const Holder = Type.Object({
  id: Type.String(),
  host: Type.String(),
  pid: Type.Integer(),
  /** When it began to use the store. */
  since: Type.String(),
  /** Milliseconds after its last renewal at which its hold ends. */
  leaseMs: Type.Optional(Type.Integer({ minimum: 1 })),
  /** Of the boot, of the namespace of process ids, and of the start of the process: a number is given again. */
  bootId: Type.String(),
  namespace: Type.String(),
  processStart: Type.String(),
})
export type Holder = Static<typeof Holder>

/** Those of this process that use a store now. */
const active = new Set<string>()

/** This process. */
export const thisHolder = (): Holder => ({
  id: randomUUID(),
  host: hostname(),
  pid: process.pid,
  since: new Date().toISOString(),
  ...kernelOf(process.pid),
})

/** Whether both are the same use of a store by the same process. */
export const isSame = (one: Holder | null | undefined, other: Holder | null | undefined): boolean =>
  one?.id !== undefined && one.id === other?.id

/** Notes whether this process uses a store as that holder. */
export const setActive = ({ id }: Holder, isActive: boolean): void =>
  void (isActive ? active.add(id) : active.delete(id))

/** Whether a holder runs: `unknown` for one of another host or container, and where the system does not tell. */
export function lifeOf(holder: Holder): 'runs' | 'gone' | 'unknown' {
  const here = kernelOf(holder.pid)
  if (holder.host !== hostname() || here.bootId === '' || here.namespace !== holder.namespace)
    return 'unknown'
  if (here.bootId !== holder.bootId || here.processStart !== holder.processStart) return 'gone'
  // This process, which may have failed to say that it ended its use.
  return holder.pid === process.pid && !active.has(holder.id) ? 'gone' : 'runs'
}

/** Whoever waits for the end of a lease looks so often whether it is renewed. */
const lookShare = 0.05

/**
 * Resolves when a holder has ended: it is gone, or has not renewed its hold for the time of a lease.
 * @param version changes when it renews its hold; undefined when there is none any more
 * @throws ConfigError that names it, when it has not ended
 */
export async function requireEnded(
  holder: Holder,
  version: () => Promise<unknown>,
  { leaseMs, log }: { readonly leaseMs: number; readonly log: Log },
): Promise<void> {
  const life = lifeOf(holder)
  if (life === 'gone') return
  const running = new ConfigError(
    `another Gantry uses this store (${inWords(holder)}): stop it first, or set GANTRY_HOME to another folder and "store_dir" in its messaging.config to another store`,
  )
  if (life === 'runs') throw running
  // It may have been started with another time than this process.
  const waitMs = Math.max(leaseMs, holder.leaseMs ?? 0)
  log.info({ holder, waitMs }, 'Waiting to see whether another Gantry still uses this store.')
  const first = await version()
  const endMs = performance.now() + waitMs
  while (performance.now() < endMs) {
    await delay(leaseMs * lookShare)
    const now = await version()
    if (now === undefined) return
    if (now !== first) throw running
  }
}

export const inWords = ({ host, pid, since }: Holder): string => `process ${pid} on ${host}, since ${since}`

/** Empty texts on systems without /proc, and the start of a process that is gone. */
function kernelOf(pid: number) {
  const { 0: state, 19: start = '' } = processStat(pid)
  return {
    bootId: read(() => readTextFile('/proc/sys/kernel/random/boot_id')).trim(),
    namespace: read(() => readlinkSync('/proc/self/ns/pid')),
    // One that has ended and was not waited for by its parent still has a number.
    processStart: state === 'Z' ? '' : start,
  }
}

function read(file: () => string | undefined): string {
  try {
    return file() ?? ''
  } catch {
    return ''
  }
}
