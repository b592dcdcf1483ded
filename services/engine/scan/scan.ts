import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ActionPolicy } from '../../../subjects/migrations/model/terms.ts'
import type { Entry, Losses, StorePath } from '../../drivers/contract/driver.ts'
import { nameOf, parentOf } from '../../drivers/paths/path-text.ts'
import { ChangedNames } from '../items/changed-folders.ts'
import type { Children } from '../items/children.ts'
import { concurrently } from '../../../broker/common/concurrently.ts'
import { lookBeside } from '../tree/beside.ts'
import { checkAccepted } from '../copy/copy.ts'
import { add, noCounts, type Counts, type ItemResult } from '../run/counts.ts'
import { Descent, groupsOf, type RegionFolder } from '../items/descent.ts'
import { usualBounds } from '../items/found-below.ts'
import { joinPath } from '../items/paths.ts'
import { isFolder, makeFolder, makeParents } from '../tree/folders.ts'
import type { Region, Rest } from '../items/items.ts'
import { isExcluded, judgeFolder } from '../tree/judge.ts'
import { isKnown } from '../compare/entries.ts'
import { statedPairs } from '../compare/stated.ts'
import { isOwn, isWatched, skippedLacks } from '../tree/live.ts'
import { isMapped, targetPath } from '../run/mappings.ts'
import { dressSkipped, type Skipped } from '../tree/match-folder.ts'
import { Outcome } from '../run/outcome.ts'
import { storeError } from '../../drivers/contract/store-error.ts'
import { type Refused, withLinks } from '../tree/links.ts'
import { countLosses } from '../run/metadata.ts'
import { isKnownLink, readsFirst } from '../tree/same-content.ts'
import { concurrencyOf, grainMsOf, policyOf, requireStore, storePath, sweep, type Run } from '../run/run.ts'

/** After so long a scan lets the thread's other job have a turn: files should not wait for the end of a long listing. */
const turnMs = 10

/** What the listing of one folder came to, besides its children. */
interface Found {
  readonly counts: Counts
  /**
   * Names that cannot be at the target, or that no item can name: object stores have empty ones, `.` and `..`. Links that
   * are not followed.
   */
  readonly refused: Refused[]
  /** Whether the target may have it, made by this scan or by that of a folder in it. */
  mayBeThere: boolean
  /** By a rule: it is none of those scanned. */
  isLeftOut: boolean
  /** Whether the rest of its listing is another item, which has the last word on it. */
  isHandedOn: boolean
  /** Where its listing goes on after what was taken of it, where the store can. */
  rest: Rest | undefined
  /** Of a live migration: what is to be compared, as it changed meanwhile. */
  readonly again: ChangedNames
}

/** For the ledger alone. */
function refusedPath(run: Run, folder: RegionFolder, name: Buffer): StorePath {
  const path = storePath(run, folder.path)
  return path.length === 0 ? name : Buffer.concat([path, Buffer.from('/'), name])
}

/**
 * Lists the folders of an item, makes them at the target, and turns what is in them into items. A folder that cannot be
 * listed is tried again as a whole: its counts are left out until it succeeds or is given up. Throws when it was stopped
 * or its children could not be sent.
 *
 * Where the store can go on with a listing, a folder with more entries than an item may find is scanned by several items, one
 * after the other: a scan that is interrupted goes on with the last of them, and not from the beginning.
 */
export async function scan(
  run: Run,
  region: Region,
  children: Children,
  bounds = usualBounds,
): Promise<ItemResult> {
  const outcome = new Outcome(region.attempt)
  const again: RegionFolder[] = []
  const changed = new ChangedNames()
  const descent = new Descent(region, (parent, name, mode) => children.folder(parent, name, mode), bounds)
  await descent.each(concurrencyOf(run), async (folder, turn) => {
    const found: Found = {
      counts: noCounts(),
      refused: [],
      mayBeThere: true,
      isLeftOut: false,
      isHandedOn: false,
      rest: undefined,
      again: changed,
    }
    const { counts, refused } = found
    try {
      await scanFolder(run, region, folder, { children, descent, found, turn })
      if (found.mayBeThere && !found.isHandedOn && run.target.capabilities.folderTimesMove)
        toFinish(folder, children)
    } catch (error) {
      await turn
      run.stop.check()
      // The folder where a scan begins was asked for; any other was there a moment ago.
      const isVanished = storeError(error).failure === 'gone' && (folder.group ?? folder.rest) !== undefined
      if (isVanished) {
        await requireStore(run)
        counts.foldersVanished++
      }
      // What was taken is not taken once more.
      else if (found.rest !== undefined) handOn(folder, found.rest, children, found)
      else if (await isOwnInTheWay(run, folder, error))
        changed.add(parentOf(folder.path), nameOf(folder.path), true)
      // As an item of its own it is tried again, or given up.
      else if (descent.pass(folder)) return
      else if (outcome.failed(storePath(run, folder.path), error, 'folder')) {
        again.push(folder)
        return
      }
    }
    if (found.isLeftOut) counts.foldersExcluded++
    else if (!found.isHandedOn) counts.foldersScanned++
    for (const { name, error, found: file } of refused)
      outcome.failedForGood(refusedPath(run, folder, name), error, 'file', file)
    add(outcome.counts, counts)
  })
  await children.sendAll()
  const result = outcome.result(again.length === 0 ? undefined : retryOf(region, again))
  return run.spec.live === undefined ? result : { ...result, again: changed.items() }
}

function toFinish({ path, group }: RegionFolder, children: Children): void {
  if (group === undefined) children.finishStart(path)
  else children.finish('alone', group.parent, nameOf(path))
}

/** Makes an item of what is left of the listing of a folder. */
function handOn({ path }: RegionFolder, rest: Rest, children: Children, found: Found): void {
  children.rest(path, rest)
  found.isHandedOn = true
}

function retryOf(region: Region, folders: readonly RegionFolder[]): Region {
  const { start: _start, rest: _rest, groups: _groups, ...own } = region
  return { ...own, ...groupsOf(region, folders) }
}

async function scanFolder(
  run: Run,
  region: Region,
  folder: RegionFolder,
  {
    children,
    descent,
    found,
    turn,
  }: { children: Children; descent: Descent; found: Found; turn: Promise<void> },
): Promise<void> {
  const { counts, refused } = found
  const taken: Taken = {
    folder: (name, mode) => descent.found(folder.path, name, mode),
    file: (name, sizeBytes) => children.file(folder.path, name, sizeBytes),
    other: (name) => children.other(folder.path, name),
  }
  const path = storePath(run, folder.path)
  const { excludedBy, isIncluded, judge } = judgeFolder(run, path)
  if (excludedBy !== undefined) {
    found.isLeftOut = true
    found.mayBeThere = false
    return
  }
  const policy = policyOf(run, region)
  const grainMs = grainMsOf(run)
  checkAccepted(run, path, 'folder', 0)
  await run.pace.pay(0)
  const { rest } = folder
  const listing = rest === undefined ? {} : { after: rest.cursor }
  const pages = run.source.list(path, run.stop.signal, listing)[Symbol.asyncIterator]()
  try {
    // The first page proves that the folder is there, before it is made at the target.
    let page = await pages.next()
    const isPart = rest !== undefined
    using beside = looksBeside(policy) ? await lookBeside(run, path, { turn, isPart }) : undefined
    const make = async () => {
      countLosses(counts, await makeTarget(run, region, folder, path))
      await lookAgain(run, folder, path, found)
      counts.foldersMigrated++
      await sweep(run, path)
    }
    // A folder that is only on the way to what is included is made for the first that it holds.
    let isMade = rest?.isMade ?? (folder.path.length === 0 || isIncluded)
    if (isMade && rest === undefined) await make()
    await turn
    for (let turnEndsMs = performance.now() + turnMs; page.done !== true; page = await pages.next()) {
      run.stop.check()
      const { cursor } = page.value
      const entries = await withLinks(run, path, page.value.entries, found, (link) => isExcluded(judge(link)))
      descent.count(entries.length)
      const there = await beside?.find(entries)
      // What goes by size alone needs no more than the listings.
      const known =
        there === undefined || policy !== 'SkipIfSizeAndTimeMatch'
          ? undefined
          : await statedPairs(run, path, there)
      let holdsFiles = false
      const skipped: Skipped[] = []
      for (const entry of entries) {
        // Patterns of people may take their time.
        if (run.rules !== undefined && performance.now() >= turnEndsMs) {
          await nextTurn()
          run.stop.check()
          turnEndsMs = performance.now() + turnMs
        }
        const judgement = judge(entry)
        if (isExcluded(judgement)) {
          countExcluded(entry, counts)
          continue
        }
        const error = typeof judgement === 'object' ? judgement.error : undefined
        if (error !== undefined) refused.push({ name: entry.name, error, ...foundIn(entry) })
        const { source, target } = known?.get(entry) ?? { source: entry, target: there?.get(entry) }
        const isHere =
          error === undefined &&
          (mayBeSameLink(entry, policy, there)
            ? await isKnownLink(run, policy, joinPath(path, entry.name))
            : isKnown(policy, source, target, grainMs) === true)
        if (isHere && target !== undefined && skippedLacks(run, source, target) !== undefined)
          skipped.push({ path: joinPath(path, entry.name), source, target })
        const isNeeded = take(entry, isHere, error === undefined ? taken : undefined, counts)
        holdsFiles = isNeeded || holdsFiles
      }
      await concurrently(skipped, concurrencyOf(run), (file) => dressSkipped(run, file, counts))
      if (!isMade && holdsFiles) {
        isMade = true
        await make()
      }
      if (cursor !== undefined) {
        found.rest = { cursor, isMade }
        if (descent.isSpent) return handOn(folder, found.rest, children, found)
      }
      await children.sendFullBatch()
      if (performance.now() < turnEndsMs) continue
      await nextTurn()
      turnEndsMs = performance.now() + turnMs
    }
    found.isLeftOut = !isMade
  } finally {
    await pages.return?.()
  }
}

/** A folder that went just before it was made at the target must go there too, whoever is told of that first. */
async function lookAgain(run: Run, folder: RegionFolder, path: StorePath, { again }: Found): Promise<void> {
  if (!isWatched(run) || folder.path.length === 0) return
  if (!isFolder(run, await run.source.stat(path, run.stop.signal)))
    again.add(parentOf(folder.path), nameOf(folder.path), true)
}

/** Whether a live migration copied a file where the source has a folder by now: a comparison replaces it. */
async function isOwnInTheWay(run: Run, { path }: RegionFolder, error: unknown): Promise<boolean> {
  if (run.spec.live === undefined || path.length === 0 || storeError(error).failure !== 'unsupported')
    return false
  const there = await run.target
    .stat(targetPath(run, storePath(run, path)), run.stop.signal)
    .catch(() => undefined)
  return there !== undefined && there.type !== 'folder' && isOwn(run, there)
}

/** Whether the policy asks what stands at the target when a folder is listed; content is looked at when it is copied. */
const looksBeside = (policy: ActionPolicy): boolean => policy !== 'Overwrite' && !readsFirst(policy)

/** Whether a look at the target's link is worth it; without a listing of the target only that look can tell. */
const mayBeSameLink = (
  entry: Entry,
  policy: ActionPolicy,
  there: ReadonlyMap<Entry, Entry> | undefined,
): boolean =>
  entry.type === 'symlink' &&
  (there === undefined ? readsFirst(policy) : there.get(entry)?.type === 'symlink')

/** As `take` counts it. */
const foundIn = ({ type, sizeBytes }: Entry): Pick<Refused, 'found'> =>
  type === 'folder' ? {} : { found: { sizeBytes: type === 'file' ? sizeBytes : 0 } }

function countExcluded({ type, sizeBytes }: Entry, counts: Counts): void {
  if (type === 'folder') counts.foldersExcluded++
  else counts.filesExcluded++
  counts.bytesExcluded += sizeBytes
}

/** Makes the folder, and its parents where nothing can be said about them: at a scan's start, and when it did not work. */
async function makeTarget(
  run: Run,
  { attempt }: Region,
  { group, mode }: RegionFolder,
  path: StorePath,
): Promise<Losses> {
  const isUnsure = group === undefined || attempt > 1 || run.rules?.isConfined === true
  if (isUnsure || isMapped(run, path)) await makeParents(run, path)
  const itsMode = group === undefined ? (await run.source.stat(path, run.stop.signal))?.mode : mode
  return makeFolder(run, path, itsMode)
}

/** Who gets what is taken of a folder. */
interface Taken {
  folder(name: Buffer, mode: number | undefined): void
  file(name: Buffer, sizeBytes: number): void
  other(name: Buffer): void
}

/**
 * Counts an entry, and hands it on.
 * @param taken undefined when it cannot be handed on
 * @returns whether its folder is needed at the target
 */
function take(entry: Entry, isHere: boolean, taken: Taken | undefined, counts: Counts): boolean {
  const { type, name, sizeBytes } = entry
  switch (type) {
    case 'folder':
      if (taken === undefined) counts.foldersScanned++
      else taken.folder(name, entry.mode)
      return false
    case 'symlink':
      counts.linksScanned++
      if (isHere) counts.filesSkipped++
      else taken?.other(name)
      break
    case 'other':
      counts.othersScanned++
      taken?.other(name)
      break
    case 'file':
      counts.filesScanned++
      counts.bytesScanned += sizeBytes
      if (!isHere) taken?.file(name, sizeBytes)
      else {
        counts.filesSkipped++
        counts.bytesSkipped += sizeBytes
      }
  }
  return taken !== undefined
}
