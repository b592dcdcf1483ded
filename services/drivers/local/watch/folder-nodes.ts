import type { FSWatcher, Stats } from 'node:fs'

/** A folder of a tree, by name and not by path: whole trees get other names. Names as latin1, a character a byte. */
export interface FolderNode {
  readonly name: string
  /** Undefined for the root, and for what is no longer in the tree. */
  parent: FolderNode | undefined
  children: Map<string, FolderNode> | undefined
  /** Undefined when it cannot be watched: we may not read it. */
  watcher: FSWatcher | undefined
  identity: Identity | undefined
  /** Whether it, or a folder in it, could not be watched or listed, and may be with other permissions. */
  hasGap: boolean
}

/** What stands at a path; denied when we may not know. */
export type Seen = Stats | 'denied' | undefined

/** Tells a folder from another of the same name, even if it got the number of one that was removed. */
interface Identity {
  readonly inode: number
  readonly createdMs: number
}

export const identityOf = ({ ino, birthtimeMs }: Stats): Identity => ({ inode: ino, createdMs: birthtimeMs })

/** Whether this is the folder; no where the file system does not tell when it was made. */
export const isIdentity = (identity: Identity | undefined, now: Seen): boolean =>
  typeof now === 'object' &&
  identity?.inode === now.ino &&
  identity.createdMs === now.birthtimeMs &&
  now.birthtimeMs > 0

/** Whether there is a folder, as far as we may know. */
export const isFolderThere = (stat: Seen): stat is Stats => typeof stat === 'object' && stat.isDirectory()

export const newNode = (name: string, parent?: FolderNode): FolderNode => ({
  name,
  parent,
  children: undefined,
  watcher: undefined,
  identity: undefined,
  hasGap: false,
})

/** Whether a folder and all that is in it are watched. */
export const isWhole = ({ watcher, hasGap }: FolderNode): boolean => watcher !== undefined && !hasGap

/** Notes a gap in a folder, for those above it too: of any of them the permissions may be what is in the way. */
export function markGap(node: FolderNode): void {
  for (let at: FolderNode | undefined = node; at !== undefined; at = at.parent) at.hasGap = true
}

/** The child of this name, a new one if there is none. */
export function childOf(node: FolderNode, name: string): FolderNode {
  const known = node.children?.get(name)
  if (known !== undefined) return known
  const child = newNode(name, node)
  node.children ??= new Map()
  node.children.set(name, child)
  return child
}

/** Takes a folder, and all below it, out of its tree. */
export function detach(node: FolderNode): void {
  node.parent?.children?.delete(node.name)
  node.parent = undefined
}

/** Path relative to the root; undefined for what is no longer in the tree. */
export function pathOf(root: FolderNode, node: FolderNode): string | undefined {
  let path = ''
  let at: FolderNode = node
  while (at.parent !== undefined) {
    path = path === '' ? at.name : `${at.name}/${path}`
    at = at.parent
  }
  return at === root ? path : undefined
}
