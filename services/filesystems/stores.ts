import { type Entry, type Side, type StorePath } from '../drivers/index.ts'
import type { StoreBounds } from '../drivers/contract/bounds.ts'
import { removalSeconds } from '../../subjects/filesystems/filesystems.ts'
import type { FilesystemSpec } from '../../subjects/filesystems/kinds.ts'
import { type Asker, QuestionThreads } from '../questions/question-threads.ts'
import type { CheckLine } from './check.ts'
import type { Answered, Question } from './questions.ts'
import type { Removed } from './removal.ts'

/** So long a removal goes on: what it is in then has until the end of the patience. */
const removalMs = removalSeconds * 1_000

interface StoresOptions {
  /** The module that threads run. */
  readonly entry?: URL
  /** Where filesystems may be; without them anywhere. */
  readonly bounds?: StoreBounds
  /** Modules with more kinds of filesystems, which its threads load. */
  readonly kinds?: readonly string[]
  readonly patienceMs?: number
  readonly idleMs?: number
  readonly removalMs?: number
}

/** Asks stores in worker threads. */
export class Stores {
  readonly #threads: QuestionThreads<Question, Answered>
  readonly #removalMs: number

  constructor({
    entry,
    bounds,
    kinds = [],
    removalMs: ownRemovalMs = removalMs,
    ...patience
  }: StoresOptions = {}) {
    this.#threads = new QuestionThreads({
      entry: entry ?? new URL('./store-thread.ts', import.meta.url),
      workerData: { bounds, kinds },
      what: 'the store',
      ...patience,
    })
    this.#removalMs = ownRemovalMs
  }

  /**
   * Proves that the store is there and takes the credentials. Resolves with what people should know of such a store, where there
   * is something. Throws GantryError NOT_ACCEPTED, StoreError.
   * @param asker whose turn it takes
   */
  async probe(spec: FilesystemSpec, asker: Asker): Promise<string | undefined> {
    const answer = await this.#threads.ask({ kind: 'probe', spec }, asker)
    if ('notice' in answer) return answer.notice
    throw new Error('the thread has answered another question')
  }

  /**
   * The `limit` first entries of a folder by the bytes of their names, those up to `after` left out. Throws as `probe`
   * does; StoreError `gone` when there is no such folder.
   */
  async firstEntries(
    spec: FilesystemSpec,
    folder: StorePath,
    { after, limit }: { after: Buffer | undefined; limit: number },
    asker: Asker,
  ): Promise<Entry[]> {
    const entries = await this.#entries({ kind: 'list', spec, folder, after, limit }, asker)
    // Structured cloning makes Uint8Arrays of Buffers.
    return entries.map((entry) => ({ ...entry, name: Buffer.from(entry.name) }))
  }

  /** What stands at a path, without following a symbolic link; undefined when nothing does. Throws as `probe` does. */
  async stat(spec: FilesystemSpec, path: StorePath, asker: Asker): Promise<Entry | undefined> {
    const [entry] = await this.#entries({ kind: 'stat', spec, path }, asker)
    return entry
  }

  /**
   * Removes what stands at a path, for as long as a call may take. Throws as `probe` does, when nothing is gone.
   * @param recursive whether a folder goes with all that is in it
   */
  async remove(spec: FilesystemSpec, path: StorePath, recursive: boolean, asker: Asker): Promise<Removed> {
    const budgetMs = this.#removalMs
    const answer = await this.#threads.ask({ kind: 'remove', spec, path, recursive, budgetMs }, asker)
    if ('removed' in answer) return answer.removed
    throw new Error('the thread has answered another question')
  }

  /** Tries what a migration needs of a store. Throws GantryError NOT_ACCEPTED, and StoreError where it does not answer in time. */
  async check(spec: FilesystemSpec, side: Side, asker: Asker): Promise<CheckLine[]> {
    const answer = await this.#threads.ask({ kind: 'check', spec, side }, asker)
    if ('checks' in answer) return answer.checks
    throw new Error('the thread has answered another question')
  }

  /** Ends the idle thread; one that is at work ends with its answer. */
  close(): void {
    this.#threads.close()
  }

  async #entries(question: Question, asker: Asker): Promise<Entry[]> {
    const answer = await this.#threads.ask(question, asker)
    return 'entries' in answer ? answer.entries : []
  }
}
