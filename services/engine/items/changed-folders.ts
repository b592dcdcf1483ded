import {
  encodeItem,
  maxItemTextBytes,
  maxRegionFolders,
  maxTransferNames,
  type ChangedFolder,
  type Reconcile,
} from './items.ts'

/** Names of one folder, collected one by one. */
interface Collected {
  readonly folder: Buffer
  readonly names: Buffer[]
  readonly trees: Buffer[]
}

/** What is to be looked at again, by folder. */
export class ChangedNames {
  readonly #folders = new Map<string, Collected>()

  add(folder: Buffer, name: Buffer, isTree = false): void {
    const key = folder.toString('latin1')
    const known = this.#folders.get(key) ?? { folder, names: [], trees: [] }
    this.#folders.set(key, known)
    known[isTree ? 'trees' : 'names'].push(name)
  }

  get groups(): ChangedFolder[] {
    return Array.from(this.#folders.values(), (known) => ({ ...known, scope: 'names' }))
  }

  /** As items that are not to be worked on before a moment. */
  items(notBeforeMs = 0): Uint8Array[] {
    return reconcileItems(this.groups, { attempt: 1, notBeforeMs })
  }
}

/** Items of these folders, as few as their bounds allow. */
export function reconcileItems(
  groups: readonly ChangedFolder[],
  { attempt, notBeforeMs }: Pick<Reconcile, 'attempt' | 'notBeforeMs'>,
): Uint8Array<ArrayBuffer>[] {
  const encode = (some: readonly ChangedFolder[]) =>
    encodeItem({ kind: 'reconcile', attempt, notBeforeMs, groups: some })
  return Array.from(itemGroups(groups), encode)
}

/** The folders in portions that fit into items; one with many names is in several. */
export function* itemGroups(groups: Iterable<ChangedFolder>): Generator<ChangedFolder[]> {
  let portion: ChangedFolder[] = []
  let names = 0
  let textBytes = 0
  for (const group of groups) {
    for (const part of partsOf(group)) {
      const itsNames = part.names.length + part.trees.length
      const itsBytes = textBytesOf(part)
      const isFull =
        portion.length >= maxRegionFolders ||
        names + itsNames > maxTransferNames ||
        textBytes + itsBytes > maxItemTextBytes
      if (isFull && portion.length > 0) {
        yield portion
        portion = []
        names = 0
        textBytes = 0
      }
      portion.push(part)
      names += itsNames
      textBytes += itsBytes
    }
  }
  if (portion.length > 0) yield portion
}

const textBytesOf = ({ folder, names, trees }: ChangedFolder): number =>
  [...names, ...trees].reduce((sum, { length }) => sum + length, folder.length)

/** Names are at most 255 bytes in most stores, and 1,024 in the others: so many of them always fit into an item. */
const maxPartNames = 120

function* partsOf(group: ChangedFolder): Generator<ChangedFolder> {
  const { folder, names, trees } = group
  if (names.length + trees.length <= maxPartNames) {
    yield group
    return
  }
  for (let at = 0; at < names.length; at += maxPartNames)
    yield { folder, names: names.slice(at, at + maxPartNames), trees: [], scope: 'names' }
  for (let at = 0; at < trees.length; at += maxPartNames)
    yield { folder, names: [], trees: trees.slice(at, at + maxPartNames), scope: 'names' }
  if (group.scope !== 'names') yield { folder, names: [], trees: [], scope: group.scope }
}
