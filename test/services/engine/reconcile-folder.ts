import { decodeItem, deepItem } from '../../../services/engine/items/item-decode.ts'
import { reconcileItems } from '../../../services/engine/items/changed-folders.ts'
import { add, noCounts, type Counts, type Failure } from '../../../services/engine/run/counts.ts'
import { kindOf, type ChangedFolder, type Item } from '../../../services/engine/items/items.ts'
import type { ChangeScope } from '../../../services/drivers/feeds/dirty-folders.ts'
import { joinPath } from '../../../services/engine/items/paths.ts'
import type { Mover, MoveSpec } from '../../../services/engine/mover.ts'

/** What comparing came to. */
export interface Reconciled {
  readonly counts: Counts
  readonly failures: Failure[]
  /** Paths that are to be looked at again. */
  readonly again: string[]
  /** Paths of large files that went by items of their own. */
  readonly busy: string[]
  /** Paths that are gone at the source, and done with at the target. */
  readonly gone: string[]
  /** Whether everything is to be compared, for the other names of a file. */
  readonly hasOtherNames: boolean
  /** How many items were worked on. */
  readonly items: number
  /** Of these, by kind. */
  readonly kinds: Readonly<Partial<Record<Item['kind'], number>>>
}

/** A folder to compare, in words. */
export const changed = (
  folder: string,
  { names = [], trees = [], scope = 'names' }: { names?: string[]; trees?: string[]; scope?: ChangeScope },
): ChangedFolder => ({
  folder: Buffer.from(folder),
  names: names.map((name) => Buffer.from(name)),
  trees: trees.map((name) => Buffer.from(name)),
  scope,
})

/**
 * Compares folders and does all that comes of it; what is to be looked at again is not.
 * @param isDeep the first item is a deep one
 */
export async function reconcile(
  mover: Mover,
  spec: MoveSpec,
  groups: readonly ChangedFolder[],
  isDeep = false,
): Promise<Reconciled> {
  const counts = noCounts()
  const failures: Failure[] = []
  const again: string[] = []
  const busy: string[] = []
  const gone: string[] = []
  const items = reconcileItems(groups, { attempt: 1, notBeforeMs: 0 }).map((item) =>
    isDeep ? deepItem(item) : item,
  )
  const { signal } = new AbortController()
  const kinds: Partial<Record<Item['kind'], number>> = {}
  let hasOtherNames = false
  for (let item = items.shift(); item !== undefined; item = items.shift()) {
    const kind = kindOf(item)
    kinds[kind] = (kinds[kind] ?? 0) + 1
    const isListed = ['reconcile', 'region'].includes(kind)
    const result = isListed
      ? await mover.scan(
          spec,
          item,
          async ({ regions, transfers }) => void items.push(...regions, ...transfers),
          signal,
        )
      : await mover.transfer(spec, item, signal)
    add(counts, result.counts)
    failures.push(...result.failures)
    again.push(...(result.again ?? []).flatMap(pathsOf))
    busy.push(...(result.busy ?? []).flatMap(pathsOf))
    gone.push(...(result.gone ?? []))
    hasOtherNames ||= result.hasOtherNames === true
    if (result.retry !== undefined) items.push(result.retry)
  }
  return { counts, failures, again, busy, gone, hasOtherNames, items: sum(Object.values(kinds)), kinds }
}

const sum = (counts: readonly number[]): number => counts.reduce((all, count) => all + count, 0)

function pathsOf(bytes: Uint8Array): string[] {
  const item = decodeItem(bytes)
  if (item.kind !== 'reconcile') throw new Error(`a ${item.kind}`)
  return item.groups.flatMap(({ folder, names, trees }) =>
    [...names, ...trees].map((name) => joinPath(folder, name).toString()),
  )
}

/** Works on the first item alone: how many it makes, and why it is put off, in a word and in the store’s. */
export async function tryOnce(
  mover: Mover,
  spec: MoveSpec,
  groups: readonly ChangedFolder[],
): Promise<{ retried: number; condition: string | undefined; reason: string | undefined }> {
  const [item = new Uint8Array()] = reconcileItems(groups, { attempt: 1, notBeforeMs: 0 })
  let retried = 0
  const { signal } = new AbortController()
  const { deferral } = await mover.scan(
    spec,
    item,
    async ({ regions, transfers }) => void (retried += regions.length + transfers.length),
    signal,
  )
  return { retried, condition: deferral?.reason, reason: deferral?.message }
}
