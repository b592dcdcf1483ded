import type { ActionPolicy } from '../../../subjects/migrations/model/terms.ts'
import type { StorePath } from '../../drivers/contract/driver.ts'
import {
  encodeItem,
  largeFileBytes,
  maxItemTextBytes,
  type ChangedFolder,
  type ItemBounds,
  type Rest,
} from './items.ts'
import { joinPath } from './paths.ts'

/** Encoded items that a scan or a comparison found; folders to compare are regions too. */
export interface ChildBatch {
  readonly regions: Uint8Array<ArrayBuffer>[]
  readonly transfers: Uint8Array<ArrayBuffer>[]
  /** For the end, when all regions and transfers are done. */
  readonly folders: Uint8Array<ArrayBuffer>[]
}

const emptyBatch = (): ChildBatch => ({ regions: [], transfers: [], folders: [] })

const lengthOf = ({ regions, transfers, folders }: ChildBatch): number =>
  regions.length + transfers.length + folders.length

/**
 * Items sent together: a scan begins with few, so that the other threads have something to copy at once, and doubles
 * them up to what the queue stores with the least effort.
 */
const batchLength = { first: 2, most: 32 } as const

const first = { attempt: 1, notBeforeMs: 0 }

/** Groups of names by folder, the last of them still open. */
class Groups<G> {
  #groups: G[] = []
  #folder: StorePath | undefined
  #textBytes = 0
  #names = 0

  get names(): number {
    return this.#names
  }

  /** Whether an item of them is as long as a message may be. */
  get isLong(): boolean {
    return this.#textBytes >= maxItemTextBytes
  }

  /** The group that a name of this folder belongs to, a new one if the last does not fit; the name is counted. */
  for(folder: StorePath, name: Buffer, open: () => G, fits: (group: G) => boolean = () => true): G {
    let group = this.#groups.at(-1)
    if (group === undefined || this.#folder !== folder || !fits(group)) {
      group = open()
      this.#groups.push(group)
      this.#folder = folder
      this.#textBytes += folder.length
    }
    this.#textBytes += name.length
    this.#names++
    return group
  }

  take(): G[] {
    const groups = this.#groups
    this.#groups = []
    this.#folder = undefined
    this.#textBytes = 0
    this.#names = 0
    return groups
  }
}

/** Sizes of all names of a group: others have no content that was counted. */
export const withOthers = (fileBytes: readonly number[], others: readonly Buffer[]): number[] => [
  ...fileBytes,
  ...others.map(() => 0),
]

interface OpenFiles {
  folder: StorePath
  files: Buffer[]
  others: Buffer[]
  /** Of the files, as they were found. */
  fileBytes: number[]
}

interface OpenGroup {
  parent: StorePath
  names: Buffer[]
}

/** Makes items of what a scan finds: fills them up, across folders, and sends them in batches. */
export class Children {
  readonly #send: (batch: ChildBatch) => Promise<void>
  readonly #bounds: ItemBounds
  readonly #head: typeof first & { readonly policy?: ActionPolicy }
  readonly #folders = new Groups<OpenGroup & { modes?: number[] }>()
  readonly #files = new Groups<OpenFiles>()
  readonly #finishing = { alone: new Groups<OpenGroup>(), trees: new Groups<OpenGroup>() }
  #fileBytes = 0
  #trees: ChangedFolder[] = []
  #treeBytes = 0
  #batchLength: number = batchLength.first
  #batch = emptyBatch()

  /**
   * @param send resolves when another batch may follow
   * @param bounds of the items that are made
   * @param policy that of the folders, when it is not the migration's
   */
  constructor(send: (batch: ChildBatch) => Promise<void>, bounds: ItemBounds, policy?: ActionPolicy) {
    this.#send = send
    this.#bounds = bounds
    this.#head = policy === undefined ? first : { ...first, policy }
  }

  /** @param parent one object for all entries of a folder */
  folder(parent: StorePath, name: Buffer, mode: number | undefined): void {
    const hasMode = mode !== undefined
    const group = this.#folders.for(
      parent,
      name,
      () => ({ parent, names: [], ...(hasMode ? { modes: [] } : {}) }),
      // A store may know the modes of some: those that others made.
      ({ modes }) => (modes !== undefined) === hasMode,
    )
    group.names.push(name)
    if (hasMode) group.modes?.push(mode)
    if (this.#folders.names >= this.#bounds.folders || this.#folders.isLong) this.#endRegion()
  }

  /** A folder of which the rest is to be listed. */
  rest(folder: StorePath, rest: Rest): void {
    const item = { kind: 'region', ...this.#head, start: folder, rest, groups: [] } as const
    this.#batch.regions.push(encodeItem(item))
  }

  /** A folder that is to be compared with all that is below it. */
  tree(folder: StorePath, scope: 'tree' | 'content' = 'tree'): void {
    this.#trees.push({ folder, names: [], trees: [], scope })
    this.#treeBytes += folder.length
    if (this.#trees.length >= this.#bounds.folders || this.#treeBytes >= maxItemTextBytes) this.#endTrees()
  }

  /** Items that are made already. */
  items({ regions, transfers }: Pick<ChildBatch, 'regions' | 'transfers'>): void {
    this.#batch.regions.push(...regions)
    this.#batch.transfers.push(...transfers)
  }

  /** @param folder one object for all entries of a folder */
  file(folder: StorePath, name: Buffer, sizeBytes: number): void {
    if (sizeBytes > largeFileBytes) {
      const path = joinPath(folder, name)
      this.#batch.transfers.push(encodeItem({ kind: 'large', ...this.#head, path, foundBytes: sizeBytes }))
      return
    }
    if (sizeBytes === 0) return this.other(folder, name)
    if (this.#fileBytes + sizeBytes > this.#bounds.bytes) this.#endTransfer()
    this.#fileBytes += sizeBytes
    const group = this.#groupOf(folder, name)
    group.files.push(name)
    group.fileBytes.push(sizeBytes)
    this.#endFullTransfer()
  }

  /** What need not be opened: a link, an empty file, a special file. */
  other(folder: StorePath, name: Buffer): void {
    this.#groupOf(folder, name).others.push(name)
    this.#endFullTransfer()
  }

  /** Where a scan begins: its attributes are to be set when all is done. */
  finishStart(start: StorePath): void {
    this.#batch.folders.push(encodeItem({ kind: 'folders', ...first, start, groups: [] }))
  }

  /**
   * A folder whose attributes are to be set when all is done, or a tree of such.
   * @param parent one object for all entries of a folder
   */
  finish(what: 'alone' | 'trees', parent: StorePath, name: Buffer): void {
    const groups = this.#finishing[what]
    groups.for(parent, name, () => ({ parent, names: [] })).names.push(name)
    if (groups.names >= this.#bounds.folders || groups.isLong) this.#endFinishing(what)
  }

  /** Sends what is ready once it is a batch; to be called between the batches of a listing. */
  async sendFullBatch(): Promise<void> {
    if (lengthOf(this.#batch) >= this.#batchLength) await this.#sendBatch()
  }

  /** Sends what is left. */
  async sendAll(): Promise<void> {
    this.#endFinishing('alone')
    this.#endFinishing('trees')
    this.#endRegion()
    this.#endTrees()
    this.#endTransfer()
    if (lengthOf(this.#batch) > 0) await this.#sendBatch()
  }

  #groupOf(folder: StorePath, name: Buffer) {
    return this.#files.for(folder, name, () => ({ folder, files: [], others: [], fileBytes: [] }))
  }

  #endFullTransfer(): void {
    if (this.#files.names >= this.#bounds.names || this.#files.isLong) this.#endTransfer()
  }

  #endRegion(): void {
    const groups = this.#folders.take()
    if (groups.length > 0) this.#batch.regions.push(encodeItem({ kind: 'region', ...this.#head, groups }))
  }

  #endFinishing(what: 'alone' | 'trees'): void {
    const groups = this.#finishing[what].take()
    if (groups.length === 0) return
    const depth = what === 'trees' ? { isDeep: true } : {}
    this.#batch.folders.push(encodeItem({ kind: 'folders', ...first, ...depth, groups }))
  }

  #endTrees(): void {
    const groups = this.#trees
    this.#trees = []
    this.#treeBytes = 0
    if (groups.length > 0) this.#batch.regions.push(encodeItem({ kind: 'reconcile', ...first, groups }))
  }

  #endTransfer(): void {
    const groups = this.#files.take().map(({ fileBytes, ...group }) => ({
      ...group,
      sizes: withOthers(fileBytes, group.others),
    }))
    this.#fileBytes = 0
    if (groups.length > 0) this.#batch.transfers.push(encodeItem({ kind: 'transfer', ...this.#head, groups }))
  }

  #sendBatch(): Promise<void> {
    const batch = this.#batch
    this.#batch = emptyBatch()
    this.#batchLength = Math.min(2 * this.#batchLength, batchLength.most)
    return this.#send(batch)
  }
}
