import type { FilesystemSpec } from '../../../subjects/filesystem-kinds.ts'
import type { Driver, StorePath } from '../../drivers/driver.ts'
import { LocalRoot } from '../../drivers/local-root.ts'
import { sweepTemporaryFiles } from '../../drivers/local-temporary.ts'
import { isErrno, localError } from '../../drivers/local-errors.ts'
import type { Policy } from './items.ts'
import { targetError } from './outcome.ts'
import type { Bucket } from './bucket.ts'
import type { Pace } from './pace.ts'
import { joinPath } from './paths.ts'

/** What is to be moved, from where to where. Plain data. */
export interface MoveSpec {
  /** The migration's internal id; marks temporary files. */
  readonly id: string
  /** Grows with every start from the beginning after one that was cut short, and may have left something. */
  readonly generation: number
  /** Path of the migration, the same in both stores; bytes without a leading slash, empty for the whole store. */
  readonly root: Uint8Array
  readonly source: FilesystemSpec
  readonly target: FilesystemSpec
  readonly policy: Policy
  /** Limits of this process that hold for it, all of them. */
  readonly limits?: readonly Bucket[]
}

/** A spec with its stores opened, for one job in a thread. */
export interface Run {
  readonly spec: MoveSpec & { readonly root: StorePath }
  readonly source: Driver
  readonly target: Driver
  readonly stop: Stop
  readonly pace: Pace
  /** Threads of this process that live. Given when leftovers of dead writers are to be looked for. */
  readonly liveThreads: readonly number[] | undefined
}

/** Tells a job to end soon. A thread that works synchronously hears no message, so that the flag is in shared memory. */
export class Stop {
  readonly #flag: Int32Array
  readonly #controller = new AbortController()

  /** @param flag one number in shared memory; not 0 means stop */
  constructor(flag: Int32Array) {
    this.#flag = flag
  }

  /** For the asynchronous work of drivers. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  abort(): void {
    this.#controller.abort(new Error('the job was stopped'))
  }

  /** To be called between files. Throws when the job is to end. */
  check(): void {
    if (Atomics.load(this.#flag, 0) !== 0) this.abort()
    this.signal.throwIfAborted()
  }
}

/** Path in the stores of a path of an item. */
export const storePath = (run: Run, path: StorePath): StorePath => joinPath(run.spec.root, path)

/** Operations that the pair of stores wants under way at once in one thread. */
export const concurrencyOf = ({ source, target }: Run): number =>
  Math.max(source.features.concurrency, target.features.concurrency)

/** The target's answer; its errors say that they are the target's. */
export async function atTarget<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (error) {
    throw targetError(error)
  }
}

/**
 * Removes what killed writers of this migration left in a folder of the target. It is looked for where it can be: in the
 * folders of an item that comes again after its worker died, and in those of a migration that starts from the beginning.
 */
export function sweep(run: Run, folder: StorePath): void {
  const root = run.target.features.localRoot
  if (root === undefined || run.liveThreads === undefined) return
  const { liveThreads, spec } = run
  const local = new LocalRoot(root)
  try {
    local.confine(folder)
    sweepTemporaryFiles(local.absolute(folder), spec.id, liveThreads)
  } catch (error) {
    // A folder that is not there has no leftovers, and is made before it is needed.
    if (!isErrno(error, 'ENOENT')) throw targetError(localError(error))
  }
}
