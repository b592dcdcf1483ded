import type { Driver, Entry, StorePath } from '../../drivers/driver.ts'
import { atTarget } from './run.ts'
import type { Run } from './run.ts'

/** What a live migration needs to know of itself. Plain data. */
export interface Live {
  /** When it was started first, in milliseconds since 1970: what is at the target since before that is not its own. */
  readonly startedMs: number
}

const isLocal = ({ features }: Driver) => features.localRoot !== undefined

/**
 * Whether every change at the source is told, or can be had at the price of a system call: then what was just written is
 * looked at once more.
 */
export const isWatched = ({ spec, source }: Run): boolean => spec.live !== undefined && isLocal(source)

/** Times that differ by less are the same: they are set in microseconds, and a double near the present steps by 0.25 of one. */
const timeToleranceMs = 0.002

/** Permission bits that a target holds beside the owner, whose rights the others need. */
const comparedMode = 0o777

/**
 * Within so long of a write another may leave the same time: a tick of the kernel's clock; through a driver, the second
 * that object stores count in, and the time between reading and writing.
 */
const tickMs = { local: 10, remote: 2_000 } as const

/** Object stores give times of creation in whole seconds. */
const secondMs = 1_000

/** Whether an entry of the target came there after the migration was started. */
export const isOwn = ({ spec: { live }, target }: Run, { createdMs }: Entry): boolean => {
  if (live === undefined || createdMs === undefined) return false
  const { startedMs } = live
  return createdMs >= (isLocal(target) ? startedMs : Math.floor(startedMs / secondMs) * secondMs)
}

/** Whether two looks at the source saw the same. */
export const isUnchanged = (a: Entry | undefined, b: Entry | undefined): boolean =>
  a?.type === b?.type &&
  a?.sizeBytes === b?.sizeBytes &&
  a?.modifiedMs === b?.modifiedMs &&
  a?.mode === b?.mode &&
  a?.createdMs === b?.createdMs

/** Whether a file of the source was written to so lately that another write may not have changed its time. */
export const isYoung = (
  { source, target }: Run,
  { modifiedMs }: Pick<Entry, 'modifiedMs'>,
  atMs: number,
): boolean => {
  const tick = isLocal(source) && isLocal(target) ? tickMs.local : tickMs.remote
  // A time to come was set by somebody, and says nothing about the last write.
  return modifiedMs + tick > atMs && modifiedMs <= Date.now()
}

/** What the target's file lacks of the source's: nothing, the permission bits, or what only a copy gives. */
export function missingAt(run: Run, source: Entry, target: Entry): 'nothing' | 'mode' | 'copy' {
  if (source.sizeBytes !== target.sizeBytes) return 'copy'
  const isTimed = source.modifiedMs !== 0
  if (isTimed && Math.abs(source.modifiedMs - target.modifiedMs) > timeToleranceMs) return 'copy'
  // A write after the copy was begun, within one tick of the clock with the one before, left size and time as they were.
  const copiedMs = target.writtenMs ?? target.createdMs
  if (copiedMs !== undefined && isYoung(run, source, copiedMs)) return 'copy'
  return hasMode(run, source, target) ? 'nothing' : 'mode'
}

/** Whether the target's entry has the permission bits of the source's, as far as both stores have such. */
export const hasMode = (run: Run, { mode }: Entry, { mode: itsMode }: Entry): boolean =>
  mode === undefined ||
  itsMode === undefined ||
  !run.target.features.modes ||
  (mode & comparedMode) === (itsMode & comparedMode)

/** Whether both sides have the same symbolic link at a path. */
export async function hasSameLink({ source, target }: Run, path: StorePath): Promise<boolean> {
  if (source.readLink === undefined || target.readLink === undefined) return false
  const link = await source.readLink(path)
  return link.equals(await atTarget(target.readLink(path)))
}

/**
 * Whether the migration's policy leaves a file as it is at the target: it stood there before, and nothing was written to
 * the source's since the migration began.
 */
export const isSkipped = (run: Run, source: Entry, target: Entry): boolean =>
  run.spec.policy === 'skip-if-size-matches' &&
  source.sizeBytes === target.sizeBytes &&
  source.modifiedMs < (run.spec.live?.startedMs ?? 0) &&
  !isOwn(run, target)

/**
 * A large file is copied when nobody has written to it for a time that grows with its size: to begin at every write would
 * copy a growing file many times over.
 */
const quiet = { fromBytes: 1024 * 1024, bytesPerMs: 64 * 1024, maxMs: 2_000, stepMs: 50 } as const

/** How long a file is to be left alone, in milliseconds; 0 when it can be copied now. */
export function quietMs(run: Run, { type, sizeBytes, modifiedMs }: Entry): number {
  if (!isWatched(run) || type !== 'file' || sizeBytes < quiet.fromBytes) return 0
  const ageMs = Date.now() - modifiedMs
  const leftMs = Math.min(sizeBytes / quiet.bytesPerMs, quiet.maxMs) - ageMs
  // A time to come was set by somebody.
  return ageMs < 0 || leftMs <= 0 ? 0 : Math.ceil(leftMs / quiet.stepMs) * quiet.stepMs
}
