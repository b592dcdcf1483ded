import { lstatSync, opendirSync } from 'node:fs'

/** Entries of a folder that are looked at: one that is the same on both sides is enough. */
const maxEntries = 32

/**
 * What shows that a folder of another host is the same one, and not another under the same path, in which nothing would be
 * found, or to which files would be lost. Numbers of files and times are the same on every host that mounts a file system.
 */
export interface Witness {
  readonly inode: bigint
  /** When it was made; 0 where the file system does not know. */
  readonly bornNs: bigint
  readonly changedMs: bigint
  readonly entries: readonly { readonly name: string; readonly inode: bigint; readonly modifiedMs: bigint }[]
}

/** Looks at a folder. Throws system errors. */
export function witnessOf(folder: string | Buffer): Witness {
  const { ino, birthtimeNs, ctimeMs } = lstatSync(folder, { bigint: true })
  return { inode: ino, bornNs: birthtimeNs, changedMs: ctimeMs, entries: [...entriesOf(folder)] }
}

function* entriesOf(folder: string | Buffer): Generator<Witness['entries'][number]> {
  using entries = opendirSync(folder)
  for (let count = 0; count < maxEntries; count++) {
    const entry = entries.readSync()
    if (entry === null) return
    const found = stateOf(folder, entry.name)
    if (found !== undefined) yield found
  }
}

function stateOf(folder: string | Buffer, name: string) {
  const found = lstatSync(Buffer.concat([Buffer.from(folder), Buffer.from(`/${name}`)]), {
    bigint: true,
    throwIfNoEntry: false,
  })
  return found && { name, inode: found.ino, modifiedMs: found.mtimeMs }
}

/** Whether a folder of this host is the one that was looked at a moment ago. Throws system errors. */
export function hasWitness(folder: string | Buffer, { inode, bornNs, changedMs, entries }: Witness): boolean {
  const { ino, birthtimeNs, ctimeMs } = lstatSync(folder, { bigint: true })
  if (ino !== inode) return false
  // A folder in which much happens has changed since, and all in it may have too; only its birth stays.
  return (
    (bornNs > 0n && birthtimeNs === bornNs) ||
    ctimeMs === changedMs ||
    entries.some(({ name, ...was }) => {
      const found = stateOf(folder, name)
      return found?.inode === was.inode && found.modifiedMs === was.modifiedMs
    })
  )
}
