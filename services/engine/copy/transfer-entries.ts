import type { FileGroup, Transfer } from '../items/items.ts'

/** One name of a group. */
export interface TransferEntry {
  readonly group: FileGroup
  readonly name: Buffer
  readonly isFile: boolean
}

export function* entriesOfGroup(group: FileGroup): Generator<TransferEntry> {
  for (const name of group.files) yield { group, name, isFile: true }
  for (const name of group.others) yield { group, name, isFile: false }
}

export function* entriesOf(item: Transfer): Generator<TransferEntry> {
  for (const group of item.groups) yield* entriesOfGroup(group)
}
