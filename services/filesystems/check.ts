import { hash } from 'node:crypto'
import type { CheckName, CheckResult } from '../../subjects/filesystems/filesystems.ts'
import {
  type Driver,
  type FailureClass,
  readableDigest,
  type Side,
  storeError,
  type StorePath,
} from '../drivers/index.ts'
import { temporaryName } from '../drivers/paths/temporary-names.ts'

/** One line of a check. Plain data. */
export interface CheckLine {
  readonly check: CheckName
  readonly result: CheckResult
  /** What is wrong and what to do, or what was found. */
  readonly detail?: string
}

/** What is written, and read back. */
const content = Buffer.from('This is a check by Gantry, and may be removed.\n')
const replaced = Buffer.from('This is a check by Gantry, replaced.\n')

/** Most bytes of a file that are read, and more than what is written: it is asked whether it can be read. */
const readBytes = 4_096

/** Of what is written, in its temporary name. */
const checkTag = 'check'

const secondMs = 1_000

/** Credentials that are taken but may not do this are not wrong. */
const areRefused = (failure: FailureClass): boolean => failure === 'refused' || failure === 'permission'

/** Tries what a migration needs of a store: of a source only what changes nothing. Never throws. */
export async function checkStore(driver: Driver, side: Side, signal: AbortSignal): Promise<CheckLine[]> {
  const lines: CheckLine[] = []
  const add = (check: CheckName, result: CheckResult, detail?: string) =>
    lines.push({ check, result, ...(detail !== undefined && { detail }) })
  /** Whether it went well; a text is what was found. */
  const attempt = async (
    check: CheckName,
    work: () => Promise<string | undefined | void>,
  ): Promise<boolean> => {
    try {
      const found = await work()
      add(check, 'yes', found ?? undefined)
      return true
    } catch (error) {
      add(check, 'no', storeError(error).message)
      return false
    }
  }
  if (!(await isReached(driver, side, signal, add))) return lines
  const root = Buffer.alloc(0)
  let firstFile: StorePath | undefined
  await attempt('list', async () => {
    for await (const { entries } of driver.list(root, signal, { limit: 100 })) {
      firstFile = entries.find(({ type }) => type === 'file')?.name
      break
    }
  })
  if (side === 'source') {
    const file = firstFile
    if (file === undefined) add('read', 'untried', 'there is no file in the root')
    else await attempt('read', async () => void (await readFirst(driver, file)))
    await checkChanges(driver, { add, attempt }, signal)
    return lines
  }
  await checkTarget(driver, { add, attempt })
  return lines
}

/** What tells live migrations of changes. Without it they compare, so nothing is wrong then. */
async function checkChanges(
  { changes }: Driver,
  { add, attempt }: { readonly add: Add; readonly attempt: Attempt },
  signal: AbortSignal,
): Promise<void> {
  if (changes?.check !== undefined) {
    await attempt('changes', () => changes.check?.(signal) ?? Promise.resolve())
    return
  }
  try {
    const told = await changes?.feed(Buffer.alloc(0))
    if (told !== undefined && !('refusal' in told)) {
      await told.close()
      return add('changes', 'yes')
    }
    const why = told?.refusal ?? 'the source does not report changes'
    add('changes', 'untried', `${why}: live migrations compare source and target at intervals`)
  } catch (error) {
    add('changes', 'no', storeError(error).message)
  }
}

type Add = (check: CheckName, result: CheckResult, detail?: string) => void
type Attempt = (check: CheckName, work: () => Promise<string | undefined | void>) => Promise<boolean>

/** Whether something answers, takes the credentials, and has what the filesystem is. */
async function isReached(driver: Driver, side: Side, signal: AbortSignal, add: Add): Promise<boolean> {
  try {
    await driver.probe(signal)
    add('reach', 'yes')
    add('credentials', 'yes')
    add('root', 'yes', await rootOf(driver, signal))
    checkClock(driver, add)
    return true
  } catch (error) {
    const failed = storeError(error)
    const [failure, message] = [failed.failure, failed.messageFor(side)]
    const isAnswered = areRefused(failure) || failure === 'gone'
    add('reach', isAnswered ? 'yes' : 'no', isAnswered ? undefined : message)
    if (!isAnswered) return false
    add('credentials', areRefused(failure) ? 'no' : 'yes', areRefused(failure) ? message : undefined)
    if (failure === 'gone') add('root', 'no', message)
    // What is signed by a clock that is wrong looks like wrong credentials.
    checkClock(driver, add)
    return false
  }
}

/** What is said of the root. That nobody may ask how files are kept there is nothing that a migration needs. */
async function rootOf(driver: Driver, signal: AbortSignal): Promise<string | undefined> {
  const described = await driver.describe?.(signal).catch(() => undefined)
  const said = [driver.capabilities.notice, described].filter((one) => one !== undefined)
  return said.length === 0 ? undefined : said.join('; ')
}

/** Whether what this host signs is of a time that the store takes. */
function checkClock(driver: Driver, add: Add): void {
  const offset = driver.clockOffset?.()
  if (offset === undefined) return
  const { aheadMs, allowedMs } = offset
  const isFar = Math.abs(aheadMs) > allowedMs
  const fix = `; more than ${Math.round(allowedMs / secondMs)} s are rejected: correct the clock of this host (NTP) or of the store`
  const seconds = Math.floor(Math.abs(aheadMs) / secondMs)
  if (seconds === 0) return add('clock', 'yes')
  const said = `the store's clock is at least ${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'} this host's`
  add('clock', isFar ? 'no' : 'yes', isFar ? said + fix : said)
}

const copiedAgain =
  'the file system keeps times in whole seconds and does not show when a file was written: each comparison copies files with fractional seconds again; use another file system, or compare content (SkipIfDigestMatch)'

/**
 * Whether a later comparison can tell that a file was copied: by its time, or, where the store cuts that off, by when it was
 * written (see `isSameTime` of the engine).
 */
async function tellsCopies(driver: Driver, path: StorePath, modifiedMs: number): Promise<boolean> {
  const there = await driver.stat(path)
  const keptMs = there?.modifiedMs
  if (keptMs === undefined) return true
  const { grainMs = 0 } = driver.capabilities.clock
  return Math.abs(keptMs - modifiedMs) <= Math.max(grainMs, 1) || there?.changedMs !== keptMs
}

/** The first bytes of a file. */
async function readFirst(driver: Driver, path: StorePath): Promise<Buffer> {
  const file = await driver.open(path)
  try {
    return Buffer.from(await file.read(0, Math.min(file.sizeBytes, readBytes)))
  } finally {
    await file.close()
  }
}

/** Works in a folder of its own, which is gone afterwards; to all migrations it is under construction meanwhile. */
async function checkTarget(driver: Driver, { add, attempt }: { add: Add; attempt: Attempt }): Promise<void> {
  const folder = temporaryName(checkTag)
  const path = Buffer.concat([folder, Buffer.from('/file')])
  const modifiedMs = 1_600_000_000_123
  const isWritten = await attempt('write', async () => {
    await driver.makeFolder(folder, { mode: 0o755 })
    const lost = await driver.put(path, content, { modifiedMs, mode: 0o640 })
    const notes = lost.length === 0 ? [] : [`not kept: ${lost.join(', ')}`]
    if (!(await tellsCopies(driver, path, modifiedMs))) notes.push(copiedAgain)
    return notes.length === 0 ? undefined : notes.join('; ')
  })
  if (isWritten) {
    await attempt('read', async () => {
      if (!(await readFirst(driver, path)).equals(content))
        throw new Error('the content read differs from the content written')
    })
    await checkDigest(driver, path, add)
    const before = await driver.version(path).catch(() => undefined)
    await attempt('replace', async () => {
      await driver.put(path, replaced, { modifiedMs, mode: 0o640 })
      if (!(await readFirst(driver, path)).equals(replaced))
        throw new Error('the old content was read after the file was replaced')
    })
    if (before !== undefined) await checkCondition(driver, path, before, add)
    await attempt('parts', async () => {
      const upload = await driver.beginUpload(path, { sizeBytes: 1, tag: checkTag, attributes: {} })
      const body = { sizeBytes: 1, read: async () => Buffer.alloc(1) }
      try {
        await driver.writePart(upload, 0, 0, body)
      } finally {
        await driver.abortUpload(upload)
      }
    })
  }
  const remove = async () => {
    await driver.remove(path)
    await driver.remove(folder)
  }
  if (!isWritten) {
    // Of what could not be written a part may be there.
    await remove().catch(() => undefined)
    add('delete', 'untried')
    return
  }
  await attempt('delete', async () => {
    await remove()
    if ((await driver.stat(folder)) !== undefined) throw new Error('the removed folder still exists')
  })
}

/** Whether the store keeps a digest that verifications can compare. */
async function checkDigest(driver: Driver, path: StorePath, add: Add): Promise<void> {
  const entry = await driver.stat(path).catch(() => undefined)
  const digest = readableDigest(entry?.digests)
  if (digest === undefined)
    add('checksum', 'untried', 'the store keeps no digest that can be compared: verifications read files')
  else if (digest.value === hash(digest.kind, content, 'base64')) add('checksum', 'yes', digest.kind)
  else add('checksum', 'no', `the ${digest.kind} digest that the store keeps does not match the content`)
}

/** Whether a file that is there is left alone by who would create it; undefined where that holds, or cannot be asked for. */
async function createsOverExisting(driver: Driver, path: StorePath): Promise<string | undefined> {
  if (driver.putNew === undefined) return undefined
  try {
    await driver.putNew(path, content, {})
    return 'a file was replaced by one that was to be created only if none exists: set s3type to the name of the service'
  } catch (error) {
    const { failure, message } = storeError(error)
    return failure === 'changed' || failure === 'unsupported' ? undefined : message
  }
}

/** Whether a file is left alone when it is there already, and when it is removed in a version that it no longer has. */
async function checkCondition(driver: Driver, path: StorePath, before: string, add: Add): Promise<void> {
  const wrong = await createsOverExisting(driver, path)
  if (wrong !== undefined) return add('condition', 'no', wrong)
  const outcome = await driver.removeVersion(path, before).then(
    () => 'removed' as const,
    (error: unknown) => storeError(error),
  )
  if (outcome !== 'removed' && outcome.failure === 'changed') add('condition', 'yes')
  else
    add(
      'condition',
      'no',
      outcome === 'removed' ? 'a file was removed although its version had changed' : outcome.message,
    )
}
