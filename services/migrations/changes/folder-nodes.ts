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
}

/** Tells a folder from another of the same name, even if it got the number of one that was removed. */
interface Identity {
  readonly inode: number
  readonly createdMs: number
}

export const identityOf = ({ ino, birthtimeMs }: Stats): Identity => ({ inode: ino, createdMs: birthtimeMs })

/** Whether this is the folder; no where the file system does not tell when it was made. */
export const isIdentity = (identity: Identity | undefined, { ino, birthtimeMs }: Stats): boolean =>
  identity?.inode === ino && identity.createdMs === birthtimeMs && birthtimeMs > 0

export const newNode = (name: string, parent?: FolderNode): FolderNode => ({
  name,
  parent,
  children: undefined,
  watcher: undefined,
  identity: undefined,
})

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
