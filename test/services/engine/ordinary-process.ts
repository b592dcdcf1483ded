import { Mover, type MoveSpec } from '../../../services/engine/mover.ts'
import { cleanupReports } from '../../../subjects/migrations/model/cleanup-terms.ts'
import type { CleanupRow } from '../../../services/engine/walk/clean.ts'
import type { Match } from '../../../services/engine/walk/match.ts'
import { undeletedPaths } from '../../../services/engine/walk/match.ts'
import { encodeFolder } from '../../../services/engine/walk/walk-folder.ts'
import type { ChangedFolder } from '../../../services/engine/items/items.ts'
import { compareAll, differences } from './compare-folder.ts'
import { drive, type Driven } from './drive.ts'
import { reconcile, type Reconciled } from './reconcile-folder.ts'

/** A mover in a process of its own, which is that of a user who is not root: it does what it is told by messages. */

/** What can be done, and what comes of it. */
export interface Orders {
  run(spec: MoveSpec): Promise<Driven>
  reconcile(spec: MoveSpec, groups: readonly ChangedFolder[]): Promise<Reconciled>
  /** Hands out an item of which a worker that had it was killed. */
  transferAgain(spec: MoveSpec, item: Uint8Array): Promise<string[]>
  /** What differs in content. */
  compare(spec: MoveSpec): Promise<string[]>
  /** What could not be deleted. */
  match(spec: MoveSpec, how: Match): Promise<string>
  /** What became of each path of the source. */
  clean(spec: MoveSpec): Promise<string[]>
}

export type Order = { [K in keyof Orders]: { name: K; given: Parameters<Orders[K]> } }[keyof Orders]
export type Answer = { readonly result: unknown } | { readonly error: string }

const mover = new Mover({ threads: 2, log: { error: (fields) => console.error(fields) } })
const { signal } = new AbortController()

const orders: Orders = {
  run: (spec) => drive(mover, spec),
  reconcile: (spec, groups) => reconcile(mover, spec, groups.map(withBuffers)),
  transferAgain: async (spec, item) =>
    (await mover.transfer(spec, item, signal, true)).failures.map(({ message }) => message),
  compare: async (spec) => differences(await compareAll(mover, spec, { level: 'digest' })),
  match: async (spec, how) => {
    let undeleted = ''
    const waiting = [encodeFolder({ path: Buffer.alloc(0), side: 'unknown' })]
    while (waiting.length > 0)
      await mover.match(
        spec,
        how,
        waiting.splice(0),
        async ({ folders, lines }) => {
          waiting.push(...folders)
          undeleted += lines[undeletedPaths] ?? ''
        },
        signal,
      )
    return undeleted
  },
  clean: async (spec) => {
    const results: string[] = []
    for (const step of ['files', 'folders'] as const) {
      const waiting = [encodeFolder({ path: Buffer.alloc(0), side: 'unknown' })]
      while (waiting.length > 0)
        await mover.clean(
          spec,
          step,
          waiting.splice(0),
          async ({ folders, lines }) => {
            waiting.push(...folders)
            for (const line of (lines[cleanupReports.FULL.file] ?? '').split('\n').filter(Boolean)) {
              const { result, sourcePath, detail = '' } = JSON.parse(line) as CleanupRow
              results.push(`${result} ${sourcePath} ${detail}`.trim())
            }
          },
          signal,
        )
    }
    return results.toSorted()
  },
}

/** Buffers do not come as such from another process. */
const withBuffers = ({ folder, names, trees, scope }: ChangedFolder): ChangedFolder => ({
  folder: Buffer.from(folder),
  names: names.map((name) => Buffer.from(name)),
  trees: trees.map((name) => Buffer.from(name)),
  scope,
})

async function obey({ name, given }: Order): Promise<Answer> {
  try {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each order comes with its own arguments
    const order = orders[name] as (...all: unknown[]) => Promise<unknown>
    return { result: await order(...given) }
  } catch (error) {
    return { error: String(error) }
  }
}

process.on('message', (order: Order) => void obey(order).then((answer) => process.send?.(answer)))
process.on('disconnect', () => void mover.close())
