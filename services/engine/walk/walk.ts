import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises'
import { StoreError, type StorePath } from '../../drivers/contract/driver.ts'
import { concurrently } from '../../../broker/common/concurrently.ts'
import { storeError } from '../../drivers/contract/store-error.ts'
import { isName, joinPath } from '../items/paths.ts'
import { backoffMs, isOutage } from '../run/retry.ts'
import { concurrencyOf, type Run } from '../run/run.ts'
import { Collected, type Findings } from './findings.ts'
import { pairAt, type Pair, pairsOf } from './pairs.ts'
import { decodeFolder, encodeFolder, type Side, type WalkFolder } from './walk-folder.ts'

/** Looks at what stands at a path, and says on which sides a folder there is to be walked through. */
export interface Judge {
  /** Whether it changes what it looks at: then all that it found counts, however the walk goes on, and no path comes twice. */
  readonly acts?: boolean
  /** @param path relative to the migration's path */
  pair(pair: Pair, path: StorePath, found: Collected): Promise<Side | undefined>
  /**
   * A folder that `pair` has said to be of the target alone, with all that is in it; without this it is walked through as
   * any other. What it finds counts only when it returns. Throws what is worth another try.
   */
  onlyTarget?(folder: WalkFolder, found: Collected): Promise<void>
  /** A path that could not be looked at. */
  unreadable(path: StorePath, error: StoreError, found: Collected): void
  /** A folder of both sides whose entries were all looked at. */
  left?(path: StorePath): Promise<void>
}

/** Somebody waits for the end: what does not answer by then is told as it is. */
const maxTries = 3

/** What was done is told after so long: a process that is killed takes with it what was not. */
const untoldMs = 100

/** Somebody may look on: what was counted is told after so long, however large a folder is. */
const progressMs = 500

/** A walk lets the thread's other jobs have a turn after so long. */
const turnMs = 10

/**
 * Walks through folders of source and target side by side, one level; what is below comes back among the findings. A
 * folder that cannot be read is tried again as long as nothing of it was sent. Throws only when it was stopped or its
 * findings could not be sent.
 */
export async function walk(
  run: Run,
  judge: Judge,
  folders: readonly string[],
  send: (findings: Findings) => Promise<void>,
): Promise<void> {
  const all = new Collected()
  let toldMs = performance.now()
  try {
    await concurrently(folders.map(decodeFolder), concurrencyOf(run), async (folder) => {
      await new FolderWalk(run, judge, send).walk(folder, all)
      if (!all.isMuch && performance.now() < toldMs + progressMs) return
      toldMs = performance.now()
      await send(all.empty())
    })
  } catch (error) {
    if (judge.acts === true) await send(all.empty())
    throw error
  }
  await send(all.empty())
}

class FolderWalk {
  readonly #run: Run
  readonly #judge: Judge
  readonly #send: (findings: Findings) => Promise<void>
  #turnEndsMs = performance.now() + turnMs
  #isSent = false
  #toldMs = performance.now()

  constructor(run: Run, judge: Judge, send: (findings: Findings) => Promise<void>) {
    this.#run = run
    this.#judge = judge
    this.#send = send
  }

  async walk(folder: WalkFolder, all: Collected): Promise<void> {
    let { side } = folder
    for (let attempt = 1; ; attempt++) {
      const found = new Collected()
      try {
        if (side === 'unknown') await this.#look(folder, found)
        else await this.#folder({ ...folder, side }, found)
        all.take(found)
        return
      } catch (error) {
        if (this.#judge.acts === true) this.#keep(found, all)
        all.takeBack(found)
        this.#run.stop.check()
        const known = storeError(error)
        // It was there when its parent was listed: what is there now decides.
        if (known.failure === 'gone' && side !== 'unknown' && !this.#isSent) {
          side = 'unknown'
          continue
        }
        if (this.#isSent || attempt >= maxTries || !(known.retryable || isOutage(known))) {
          this.#judge.unreadable(folder.path, known, all)
          return
        }
        await delay(backoffMs(attempt, known.retryAfterMs), undefined, { signal: this.#run.stop.signal })
      }
    }
  }

  /** Of what was done nothing is done again. */
  #keep(found: Collected, all: Collected): void {
    if (!found.hasTold) return
    this.#isSent = true
    all.take(found)
  }

  async #folder(folder: WalkFolder, found: Collected): Promise<void> {
    if (folder.side === 'target' && this.#judge.onlyTarget !== undefined)
      return this.#judge.onlyTarget(folder, found)
    await this.#run.pace.pay(0)
    for await (const batch of pairsOf(this.#run, folder)) {
      await concurrently(batch, concurrencyOf(this.#run), async (pair) => {
        this.#run.stop.check()
        const path = pair.path ?? joinPath(folder.path, pair.name)
        if (isName(pair.name)) await this.#pair(pair, path, below(folder), found)
        else this.#judge.unreadable(folder.path, unusable, found)
        if (this.#judge.acts === true && performance.now() > this.#toldMs + untoldMs) await this.#tell(found)
        else if (performance.now() > this.#toldMs + progressMs) await this.#tellProgress(found)
        await this.#turn()
      })
      if (found.isMuch || this.#judge.acts === true) await this.#tell(found)
    }
    if (folder.side === 'both') await this.#judge.left?.(folder.path)
  }

  async #tell(found: Collected): Promise<void> {
    this.#toldMs = performance.now()
    if (!found.hasTold && !found.isMuch) return
    this.#isSent = true
    await this.#send(found.empty())
  }

  /** The folder may still be tried again: then it is taken back. */
  async #tellProgress(found: Collected): Promise<void> {
    this.#toldMs = performance.now()
    await this.#send(found.progress())
  }

  /** A path that somebody has asked for, or a folder that is no longer where it was. */
  async #look(folder: WalkFolder, found: Collected): Promise<void> {
    const pair = await pairAt(this.#run, folder)
    const isThere = pair.source !== undefined || pair.target !== undefined
    // As many levels below it as were wanted of it.
    if (isThere) await this.#pair(pair, folder.path, folder, found)
    else if (folder.side === 'unknown') this.#judge.unreadable(folder.path, nowhere, found)
  }

  async #pair(
    pair: Pair,
    path: StorePath,
    { levels }: Pick<WalkFolder, 'levels'>,
    found: Collected,
  ): Promise<void> {
    let side: Side | undefined
    try {
      side = await this.#judge.pair(pair, path, found)
    } catch (error) {
      this.#run.stop.check()
      this.#judge.unreadable(path, storeError(error), found)
      return
    }
    if (side === undefined || levels === 0) return
    const there = side === 'target' ? { there: pair.there } : {}
    found.folder(encodeFolder({ path, side, ...there, ...(levels === undefined ? {} : { levels }) }))
  }

  async #turn(): Promise<void> {
    if (performance.now() < this.#turnEndsMs) return
    await nextTurn()
    this.#turnEndsMs = performance.now() + turnMs
  }
}

/**
 * A volume that is not mounted must not empty the target: that the migration's own folder is not at the source says nothing
 * about what is at the target. Throws for it.
 */
export function requireRoot(path: StorePath): void {
  if (path.length === 0)
    throw new StoreError('gone', 'the folder of the migration is not there', { side: 'source' })
}

const nowhere = new StoreError(
  'gone',
  'there is nothing of this name, neither at the source nor at the target',
)
const unusable = new StoreError(
  'name',
  'it has an entry whose name is empty, . or .., which no path can have',
)

/** Levels that are wanted below the entries of a folder. */
const below = ({ levels }: WalkFolder): Pick<WalkFolder, 'levels'> =>
  levels === undefined ? {} : { levels: levels - 1 }
