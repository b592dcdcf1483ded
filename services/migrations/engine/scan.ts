import { setImmediate as nextTurn } from 'node:timers/promises'
import { StoreError, type Entry, type StorePath } from '../../drivers/driver.ts'
import { nameOf, parentOf } from '../../drivers/local-root.ts'
import type { Children } from './children.ts'
import { concurrently } from './concurrently.ts'
import { lookBeside } from './beside.ts'
import { checkAccepted } from './copy.ts'
import { add, noCounts, type Counts, type ItemResult } from './counts.ts'
import { makeFolder, makeFolders } from './folders.ts'
import type { FolderGroup, Region } from './items.ts'
import { Outcome, storeError } from './outcome.ts'
import { isName, joinPath } from './paths.ts'
import { concurrencyOf, storePath, sweep, type Run } from './run.ts'

/** After so long a scan lets the thread's other job have a turn: files should not wait for the end of a long listing. */
const turnMs = 10

/** A folder of a region item. */
interface RegionFolder {
  /** Relative to the migration's path. */
  readonly path: StorePath
  /** Undefined for the start of a scan. */
  readonly group: FolderGroup | undefined
  readonly mode: number | undefined
}

/** What the listing of one folder came to, besides its children. */
interface Found {
  readonly counts: Counts
  /** Names that are empty, `.` or `..`: object stores have such, and no item can name them. */
  readonly unusable: Buffer[]
}

/** For the ledger alone. */
function unusablePath(run: Run, folder: RegionFolder, name: Buffer): StorePath {
  const path = storePath(run, folder.path)
  return path.length === 0 ? name : Buffer.concat([path, Buffer.from('/'), name])
}

const unusableName = 'source: its name is empty, . or .., which no path can have'

/**
 * Lists the folders of an item, makes them at the target, and turns what is in them into items. A folder that cannot be
 * listed is tried again as a whole: its counts are left out until it succeeds or is given up. Throws when it was stopped
 * or its children could not be sent.
 */
export async function scan(run: Run, region: Region, children: Children): Promise<ItemResult> {
  const outcome = new Outcome(region.attempt)
  const again: RegionFolder[] = []
  await concurrently(foldersOf(region), concurrencyOf(run), async (folder) => {
    const found: Found = { counts: noCounts(), unusable: [] }
    const { counts, unusable } = found
    try {
      await scanFolder(run, region, folder, children, found)
    } catch (error) {
      run.stop.check()
      // The folder where a scan begins was asked for; any other was there a moment ago.
      const isVanished = storeError(error).failure === 'gone' && folder.group !== undefined
      if (isVanished) counts.foldersVanished++
      else if (outcome.failed(storePath(run, folder.path), error)) {
        again.push(folder)
        return
      }
    }
    for (const name of unusable)
      outcome.failed(unusablePath(run, folder, name), new StoreError('name', unusableName))
    counts.foldersScanned++
    add(outcome.counts, counts)
  })
  await children.finish()
  return outcome.result(again.length === 0 ? undefined : retryOf(region, again))
}

function* foldersOf({ start, groups }: Region): Generator<RegionFolder> {
  if (start !== undefined) yield { path: start, group: undefined, mode: undefined }
  for (const group of groups) {
    for (const [index, name] of group.names.entries()) {
      yield { path: joinPath(group.parent, name), group, mode: group.modes?.[index] }
    }
  }
}

function retryOf({ groups: _groups, start, ...region }: Region, folders: readonly RegionFolder[]): Region {
  const groups = [...Map.groupBy(folders, ({ group }) => group)].flatMap(([group, members]) =>
    group === undefined ? [] : [groupOf(group, members)],
  )
  return { ...region, ...(start === undefined ? {} : { start }), groups }
}

function groupOf({ parent, modes }: FolderGroup, members: readonly RegionFolder[]): FolderGroup {
  const names = members.map(({ path }) => nameOf(path))
  return { parent, names, ...(modes === undefined ? {} : { modes: members.map(({ mode }) => mode ?? 0) }) }
}

async function scanFolder(
  run: Run,
  region: Region,
  folder: RegionFolder,
  children: Children,
  found: Found,
): Promise<void> {
  const path = storePath(run, folder.path)
  checkAccepted(run, path, 'folder', 0)
  await run.pace.pay(0)
  const batches = run.source.list(path, run.stop.signal)[Symbol.asyncIterator]()
  try {
    // The first batch proves that the folder is there, before it is made at the target.
    let batch = await batches.next()
    const beside =
      (region.policy ?? run.spec.policy) === 'overwrite' ? undefined : await lookBeside(run, path)
    await makeTarget(run, region, folder, path)
    found.counts.foldersMigrated++
    sweep(run, path)
    for (let turnEndsMs = performance.now() + turnMs; batch.done !== true; batch = await batches.next()) {
      run.stop.check()
      const there = await beside?.find(batch.value)
      for (const entry of batch.value) {
        take(folder.path, entry, isKnown(entry, there?.get(entry)), children, found)
      }
      await children.sendFullBatch()
      if (performance.now() < turnEndsMs) continue
      await nextTurn()
      turnEndsMs = performance.now() + turnMs
    }
  } finally {
    await batches.return?.()
  }
}

/** Whether the target's entry makes a copy of the file needless. */
const isKnown = (entry: Entry, there: Entry | undefined): boolean =>
  entry.type === 'file' && there?.type === 'file' && there.sizeBytes === entry.sizeBytes

/** Makes the folder, and its parents where nothing can be said about them: at a scan's start, and when it did not work. */
async function makeTarget(
  run: Run,
  { attempt }: Region,
  { group, mode }: RegionFolder,
  path: StorePath,
): Promise<void> {
  if (group === undefined || attempt > 1) await makeFolders(run, parentOf(path))
  const itsMode = group === undefined ? (await run.source.stat(path))?.mode : mode
  await makeFolder(run, path, itsMode)
}

function take(folder: StorePath, entry: Entry, isKnown: boolean, children: Children, found: Found): void {
  const { type, name, sizeBytes } = entry
  const { counts, unusable } = found
  switch (type) {
    case 'folder':
      return children.folder(folder, name, entry.mode)
    case 'symlink':
      counts.linksScanned++
      return children.other(folder, name)
    case 'other':
      counts.othersScanned++
      if (isName(name)) children.other(folder, name)
      else unusable.push(name)
      return
    case 'file':
      counts.filesScanned++
      counts.bytesScanned += sizeBytes
      if (!isKnown) return children.file(folder, name, sizeBytes)
      counts.filesSkipped++
      counts.bytesSkipped += sizeBytes
  }
}
