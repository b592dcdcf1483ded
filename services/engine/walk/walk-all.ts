import type { Findings } from './findings.ts'
import { FolderStack } from './folder-stack.ts'

/** Folders of one job: many are small, and a message for each would cost more than they do. */
const foldersAtOnce = 64

export interface WalkOptions {
  /** Where it begins, encoded. */
  readonly start: readonly string[]
  /** Jobs at once. */
  readonly atOnce: number
  /** Where a file may be made for what memory has no room for. */
  readonly spillFolder: string
  /** Walks through folders, one level. */
  readonly step: (
    folders: readonly string[],
    take: (findings: Findings) => Promise<void>,
    signal: AbortSignal,
  ) => Promise<void>
  /** Keeps what was found; one call at a time. */
  readonly take: (findings: Findings) => Promise<void>
  readonly signal: AbortSignal
}

/**
 * Walks through folders until there are none left. Rejects with the first failure, and with the signal's reason, once
 * all jobs have ended.
 */
export async function walkAll(options: WalkOptions): Promise<void> {
  const { start, atOnce, spillFolder, step, signal } = options
  using stack = new FolderStack(spillFolder)
  stack.push(start)
  const stop = new AbortController()
  const both = AbortSignal.any([signal, stop.signal])
  let working = 0
  let wake = Promise.withResolvers<void>()
  const stir = () => {
    wake.resolve()
    wake = Promise.withResolvers()
  }
  let taking = Promise.resolve()
  const take = (findings: Findings): Promise<void> => {
    stack.push(findings.folders)
    stir()
    taking = taking.then(() => options.take(findings))
    return taking
  }
  const lane = async () => {
    while (!both.aborted && !(stack.isEmpty && working === 0)) {
      // Among few folders each lane has its share.
      const folders = stack.take(Math.max(1, Math.min(foldersAtOnce, Math.ceil(stack.length / atOnce))))
      if (folders.length === 0) {
        await wake.promise
        continue
      }
      working++
      try {
        await step(folders, take, both)
      } catch (error) {
        stop.abort(error)
        throw error
      } finally {
        working--
        stir()
      }
    }
  }
  const lanes = await Promise.allSettled(Array.from({ length: atOnce }, lane))
  signal.throwIfAborted()
  const failure = lanes.find((result) => result.status === 'rejected')
  if (failure !== undefined) throw failure.reason
}
