import { createHash, hash, randomBytes } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { threadId, workerData } from 'node:worker_threads'

/**
 * A file under construction stands in its target's folder as
 *
 *     .gantry~<tag>~<host>.<process>.<incarnation>.<thread>~<number>[.<file>.<version>[.parts]]
 *
 * No two writers ever make the same name; the tag (the migration) says whose it is, the writer whether it still lives. What
 * another writer can go on with says what it is of as well. What several processes write at once belongs to none of them:
 * its writer is `00000000.<generation>.<random>.shared`.
 */
export const temporaryPrefix = '.gantry~'
export const temporaryPattern =
  /^\.gantry~([\w.-]{1,64})~([0-9a-f]{8})\.([0-9a-z]+)\.([0-9a-f]{12})\.([0-9a-z]+)~[0-9a-z]+(?:\.([0-9a-f]{16})\.([0-9a-f]{16})(\.parts)?)?$/

/** Of a file under construction that another writer can go on with: what it is of, and which version. */
export interface Construction {
  /** 16 hexadecimal digits each. */
  readonly file: string
  readonly version: string
  /** Of one that several processes write: when its migration is begun anew, nobody goes on with it. */
  readonly generation?: number
}

/** Stands for the thread in what several processes write, and for the host, so that it is nobody's. */
export const sharedWriter = { thread: 'shared', host: '00000000' } as const

/** Longer than any name made here: prefix, tag, three `~`, the writer, a counter of 11 digits, what it is of, `.parts`. */
export const maxTemporaryNameBytes = 168

/** Of the boot of this host; empty where that is not known. */
export const bootId = optionally(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8')).join('')

/** Separates this run of the process from an earlier one with the same number; the threads of a process share it. */
export const incarnation = givenIncarnation(workerData) ?? randomBytes(6).toString('hex')

function givenIncarnation(data: unknown): string | undefined {
  if (typeof data !== 'object' || data === null || !('incarnation' in data)) return undefined
  return typeof data.incarnation === 'string' ? data.incarnation : undefined
}

/** Process numbers mean something only between processes of one boot, host name and namespace of process numbers. */
export const writingHost = createHash('sha256')
  .update(bootId === '' ? hostname() : `${hostname()}\n${bootId}`)
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

const writer = [writingHost, process.pid.toString(36), incarnation, threadId.toString(36)].join('.')
let count = 0
/** The tag of the last name and what its names begin with: thousands of files have the same. */
let last: { tag: string; beginning: string } | undefined

/** A name for a file under construction that nobody else uses. What does not fit into a name is replaced in the tag. */
export function temporaryName(tag: string, construction?: Construction): Buffer {
  if (last?.tag !== tag) last = { tag, beginning: `${temporaryPrefix}${tagInName(tag)}~${writer}~` }
  const end = construction === undefined ? '' : `.${construction.file}.${construction.version}`
  return Buffer.from(`${last.beginning}${(count++).toString(36)}${end}`, 'latin1')
}

/**
 * A name for a file under construction that several processes write.
 * @param unique 12 hexadecimal digits; default: random, so that no two beginnings have the same name
 */
export function sharedName(
  tag: string,
  { file, version, generation }: Required<Construction>,
  unique = randomBytes(6).toString('hex'),
): Buffer {
  const writer = [sharedWriter.host, generation.toString(36), unique, sharedWriter.thread]
  return Buffer.from(`${temporaryPrefix}${tagInName(tag)}~${writer.join('.')}~0.${file}.${version}`, 'latin1')
}

/** Of files that stand for names while these are given, whoever gives them. */
export const lockTag = 'name-lock'

/** Name of such a file. It is of no host, so that its age decides when a sweep removes what a killed writer left. */
export function lockName(of: string): Buffer {
  const digest = digestOf(of)
  const writer = [sharedWriter.host, '0', digest.slice(0, 12), '0'].join('.')
  return Buffer.from(`${temporaryPrefix}${lockTag}~${writer}~${digest.slice(12)}`, 'latin1')
}

/** What a name of a file under construction says of what it is of: 16 hexadecimal digits. */
export const digestOf = (bytes: string | Buffer): string => hash('sha256', bytes, 'hex').slice(0, 16)

/** Name of the file that says which parts of a file under construction are written. */
export const partsName = (temporary: Buffer): Buffer => Buffer.concat([temporary, Buffer.from('.parts')])

/** What a name of `temporaryName` or `partsName` is of, if another writer can go on with it. */
export function constructionOf(name: Buffer): (Construction & { readonly isParts: boolean }) | undefined {
  const [, , , process, , thread, file, version, parts] = temporaryPattern.exec(name.toString('latin1')) ?? []
  if (file === undefined || version === undefined) return undefined
  const construction = { file, version, isParts: parts !== undefined }
  return thread === sharedWriter.thread
    ? { ...construction, generation: Number.parseInt(process ?? '', 36) }
    : construction
}

const tagInName = (tag: string) => (tag.replaceAll(/[^\w.-]/g, '_') || '_').slice(0, 64)

/**
 * Whether the writer of a name has ended: its process, or the thread of this process that it was. What several processes
 * write has none. Undefined where that cannot be told, as on another host.
 * @param liveThreads threads of this process that live
 */
export function hasDeadWriter(name: Buffer, liveThreads: readonly number[]): boolean | undefined {
  const [, , host, process_, incarnation_, thread] = temporaryPattern.exec(name.toString('latin1')) ?? []
  if (thread === sharedWriter.thread) return true
  if (host !== writingHost) return undefined
  const pid = Number.parseInt(process_ ?? '', 36)
  if (incarnation_ === incarnation) return !liveThreads.includes(Number.parseInt(thread ?? '', 36))
  return pid === process.pid || !isRunning(pid) ? true : undefined
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

/** Number of the thread that lives as long as its process. */
const mainThread = 0

/** The threads of this process that live, where some are known: this one and the first one do. */
export const allLiveThreads = (known: readonly number[]): number[] => [mainThread, threadId, ...known]

/**
 * What a writer that cannot be asked whether it lives was making is abandoned when nobody wrote to it for this long: a part of
 * an upload takes seconds, on a very slow store a minute. A file that is taken too early costs a retry.
 */
export const abandonedAfterMs = 10 * 60_000

/** Whether a name is one that `temporaryName` made, for this tag where one is given. */
export function isTemporaryName(name: Buffer, tag?: string): boolean {
  const parts = temporaryPattern.exec(name.toString('latin1'))
  return parts !== null && (tag === undefined || parts[1] === tagInName(tag))
}
