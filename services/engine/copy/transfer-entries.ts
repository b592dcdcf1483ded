import type { FileGroup, Transfer } from '../items/items.ts'

/** One name of a group. */
export interface TransferEntry {
  readonly group: FileGroup
  readonly name: Buffer
  readonly isFile: boolean
  /** Its size as it was found; undefined where nobody knows. */
  readonly foundBytes: number | undefined
}

export function* entriesOfGroup(group: FileGroup): Generator<TransferEntry> {
  const { files, others, sizes } = group
  for (const [index, name] of files.entries()) yield { group, name, isFile: true, foundBytes: sizes?.[index] }
  for (const [index, name] of others.entries())
    yield { group, name, isFile: false, foundBytes: sizes?.[files.length + index] }
}

/** A group of some of the entries of another. */
export function groupOf({ folder }: Pick<FileGroup, 'folder'>, entries: readonly TransferEntry[]): FileGroup {
  const files = entries.filter(({ isFile }) => isFile)
  const others = entries.filter(({ isFile }) => !isFile)
  const sizes = [...files, ...others].flatMap(({ foundBytes }) => foundBytes ?? [])
  return {
    folder,
    files: files.map(({ name }) => name),
    others: others.map(({ name }) => name),
    ...(sizes.length === entries.length ? { sizes } : {}),
  }
}

export function* entriesOf(item: Transfer): Generator<TransferEntry> {
  for (const group of item.groups) yield* entriesOfGroup(group)
}
