import { type LossKind, lossKinds, maxLosses } from '../../../subjects/platform/loss-kinds.ts'
import { readTextFile, writeSecretFile } from '../../common/files.ts'
import type { Log } from '../../common/log.ts'

export type { LossKind }

/** Losses that the log tells of one by one; the others are counted. */
const maxLogged = 20

export interface Loss {
  /** Bucket or stream. */
  readonly store: string
  /** Of the record; undefined for all of the store. */
  readonly id?: string
  readonly kind: LossKind
  /** How many messages of a stream are concerned. */
  readonly messages?: number
  /** When it was found. */
  readonly found: string
}
export type Found = Omit<Loss, 'found'>

/** What was lost and nobody has accepted yet, in a file, so that a restart does not forget it. */
export class RecordLosses {
  readonly #path: string
  readonly #log: Log
  #all: readonly Loss[]

  constructor(path: string, log: Log) {
    this.#path = path
    this.#log = log
    this.#all = readLosses(path)
  }

  all(): readonly Loss[] {
    return this.#all
  }

  /** That of a record, or of a store as a whole. */
  of(store: string, id?: string): Loss | undefined {
    return this.#all.find((loss) => loss.store === store && loss.id === id)
  }

  add(found: readonly Found[]): void {
    if (found.length === 0) return
    const now = new Date().toISOString()
    for (const { store, id, kind, messages } of found.slice(0, maxLogged))
      this.#log.error({ store, record: id, kind, messages }, `Stored state was damaged. ${lossKinds[kind]}.`)
    if (found.length > maxLogged)
      this.#log.error({ store: found[0]?.store, count: found.length }, 'More stored records were damaged.')
    const names = new Set(found.map(nameOf))
    const others = this.#all.filter((old) => !names.has(nameOf(old)))
    this.#set([...found.map((loss) => ({ ...loss, found: now })), ...others].slice(0, maxLosses))
  }

  /** The same of streams, each of which may lose messages again before anybody has accepted that. */
  addOfStreams(found: readonly Found[]): void {
    this.add(
      found.map((loss) => {
        const before = this.of(loss.store)
        if (before?.kind !== loss.kind) return loss
        return { ...loss, messages: (before.messages ?? 0) + (loss.messages ?? 0) }
      }),
    )
  }

  /** Somebody has seen them; they are not told any more. */
  accept(): readonly Loss[] {
    const accepted = this.#all
    this.#set([])
    return accepted
  }

  #set(losses: readonly Loss[]): void {
    this.#all = losses
    writeSecretFile(this.#path, JSON.stringify(losses))
  }
}

const nameOf = ({ store, id }: Found): string => JSON.stringify([store, id])

/** None for a file that is damaged itself: the log has told of them. */
function readLosses(path: string): Loss[] {
  try {
    const losses: unknown = JSON.parse(readTextFile(path) ?? '[]')
    return Array.isArray(losses) ? (losses as Loss[]) : []
  } catch {
    return []
  }
}
