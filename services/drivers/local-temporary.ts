import { createHash, randomBytes } from 'node:crypto'
import { lstatSync, readFileSync, readlinkSync, unlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { threadId, workerData } from 'node:worker_threads'
import { isErrno } from './local-errors.ts'
import { openFolder, rawName } from './local-list.ts'
import { FolderPaths } from './local-root.ts'

/**
 * A file under construction stands in its target's folder as
 *
 *     .gantry~<tag>~<host>.<process>.<incarnation>.<thread>~<number>
 *
 * No two writers ever make the same name; the tag (the migration) says whose it is, the writer whether it still lives.
 */
const prefix = '.gantry~'
const pattern = /^\.gantry~([\w.-]{1,64})~([0-9a-f]{8})\.([0-9a-z]+)\.([0-9a-f]{12})\.([0-9a-z]+)~[0-9a-z]+$/

/** Longer than any name that `temporaryName` makes: prefix, tag, three `~`, the writer, and a counter of 11 digits. */
export const maxTemporaryNameBytes = 128

/**
 * A file of a writer that cannot be asked whether it lives (another host) is abandoned when nobody wrote to it for this
 * long: a part of an upload takes seconds, on a very slow store a minute. A file that is taken too early costs a retry.
 */
const abandonedAfterMs = 10 * 60_000

/** Separates this run of the process from an earlier one with the same number; the threads of a process share it. */
export const incarnation = givenIncarnation(workerData) ?? randomBytes(6).toString('hex')

function givenIncarnation(data: unknown): string | undefined {
  if (typeof data !== 'object' || data === null || !('incarnation' in data)) return undefined
  return typeof data.incarnation === 'string' ? data.incarnation : undefined
}

/** Process numbers mean something only between processes of one boot, host name and namespace of process numbers. */
const host = createHash('sha256')
  .update(
    [hostname(), ...optionally(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8'))].join('\n'),
  )
  .update(optionally(() => readlinkSync('/proc/self/ns/pid')).join('\n'))
  .digest('hex')
  .slice(0, 8)

/** Only Linux has these files; without them the age of a file decides. */
function optionally(read: () => string): string[] {
  try {
    return [read()]
  } catch {
    return []
  }
}

const writer = [host, process.pid.toString(36), incarnation, threadId.toString(36)].join('.')
let count = 0
/** The tag of the last name and what its names begin with: thousands of files have the same. */
let last: { tag: string; beginning: string } | undefined

/** A name for a file under construction that nobody else uses. What does not fit into a name is replaced in the tag. */
export function temporaryName(tag: string): Buffer {
  if (last?.tag !== tag) last = { tag, beginning: `${prefix}${tagInName(tag)}~${writer}~` }
  return Buffer.from(last.beginning + (count++).toString(36), 'latin1')
}

const tagInName = (tag: string) => (tag.replaceAll(/[^\w.-]/g, '_') || '_').slice(0, 64)

/** Whether a name is one that `temporaryName` made, for this tag where one is given. */
export function isTemporaryName(name: Buffer, tag?: string): boolean {
  const parts = pattern.exec(name.toString('latin1'))
  return parts !== null && (tag === undefined || parts[1] === tagInName(tag))
}

/**
 * Removes from a folder what dead writers left behind of this tag. A writer is dead when its process is, or when it was
 * a thread of this process that is not among `liveThreads`; for other hosts the file's age decides.
 * Does nothing when there is no such folder. Returns the number of files removed.
 */
export function sweepTemporaryFiles(
  absoluteFolder: Buffer,
  tag: string,
  liveThreads: readonly number[],
): number {
  const paths = new FolderPaths(absoluteFolder)
  let removed = 0
  for (const name of temporaryNames(absoluteFolder, tag)) {
    const path = paths.of(name)
    if (!isAbandoned(name, path, liveThreads)) continue
    try {
      unlinkSync(path)
      removed++
    } catch (error) {
      if (!isErrno(error, 'ENOENT')) throw error
    }
  }
  return removed
}

function temporaryNames(absoluteFolder: Buffer, tag: string): Buffer[] {
  const names: Buffer[] = []
  try {
    using folder = openFolder(absoluteFolder)
    for (let entry = folder.readSync(); entry !== null; entry = folder.readSync()) {
      const name = rawName(entry)
      if (name.toString('latin1', 0, prefix.length) === prefix && isTemporaryName(name, tag)) names.push(name)
    }
  } catch (error) {
    if (!isErrno(error, 'ENOENT') && !isErrno(error, 'ENOTDIR')) throw error
  }
  return names
}

/** Number of the thread that lives as long as its process. */
const mainThread = 0

function isAbandoned(name: Buffer, path: Buffer, liveThreads: readonly number[]): boolean {
  const [, , itsHost, itsProcess, itsIncarnation, itsThread] = pattern.exec(name.toString('latin1')) ?? []
  if (itsHost === host) {
    const pid = Number.parseInt(itsProcess ?? '', 36)
    const thread = Number.parseInt(itsThread ?? '', 36)
    if (itsIncarnation === incarnation) return ![mainThread, threadId, ...liveThreads].includes(thread)
    if (pid === process.pid || !isRunning(pid)) return true
  }
  const stat = lstatSync(path, { throwIfNoEntry: false })
  return stat !== undefined && Date.now() - stat.mtimeMs > abandonedAfterMs
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return !isErrno(error, 'ESRCH')
  }
}
