import { opendirSync, type Dir, type Dirent } from 'node:fs'
import { type Entry, maxPageEntries } from '../contract/driver.ts'
import { type EntryStats, FolderEntries } from './folder-entries.ts'
import { ownerOf } from './attributes.ts'
import { permitted } from './rights.ts'
import type { Pinned } from './root.ts'

/** Entries that Node takes from the operating system at once; its default of 32 costs a fifth of the time of a listing. */
const bufferedEntries = 1024

/** Opens a folder to list names as bytes; `rawName` gives them. */
export function openFolder(absolutePath: Buffer): Dir {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the types leave out 'buffer', which node:fs takes
  const encoding = 'buffer' as BufferEncoding
  return permitted(() => opendirSync(absolutePath, { encoding, bufferSize: bufferedEntries }))
}

/** The name of an entry of an opened folder. */
export function rawName(dirent: Dirent): Buffer {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- with that encoding the name is a Buffer
  return dirent.name as unknown as Buffer
}

/**
 * The entries of a folder in batches; throws system errors. Names are read as bytes: decoded as UTF-8, two different
 * files can get one name. Only what has a size or a mode is looked at by itself, the type comes with the name.
 */
export function* listFolder(opened: Pinned, limit = maxPageEntries): Generator<Entry[]> {
  const batchLength = Math.min(limit, maxPageEntries)
  using folder = openFolder(opened.path)
  const entries = new FolderEntries(opened)
  let batch: Entry[] = []
  for (let dirent = folder.readSync(); dirent !== null; dirent = folder.readSync()) {
    const entry = entryOf(dirent, entries)
    if (entry !== undefined) batch.push(entry)
    if (batch.length === batchLength) {
      yield batch
      batch = []
    }
  }
  if (batch.length > 0) yield batch
}

/** Undefined when the entry has gone since its name was read. */
function entryOf(dirent: Dirent, entries: FolderEntries): Entry | undefined {
  const name = rawName(dirent)
  if (dirent.isFile() || dirent.isDirectory()) {
    const stat = permitted(() => entries.look(name))
    return stat === undefined ? undefined : statEntry(name, stat)
  }
  return { name, type: dirent.isSymbolicLink() ? 'symlink' : 'other', sizeBytes: 0 }
}

/** What a look at something found it to be. */
export function typeOf(stat: Pick<EntryStats, 'isFile' | 'isDirectory' | 'isSymbolicLink'>): Entry['type'] {
  if (stat.isFile()) return 'file'
  if (stat.isDirectory()) return 'folder'
  return stat.isSymbolicLink() ? 'symlink' : 'other'
}

/** The entry that a look at it found. */
export function statEntry(name: Buffer, stat: EntryStats): Entry {
  const type = typeOf(stat)
  const sizeBytes = type === 'file' ? stat.size : 0
  const { mtimeMs: modifiedMs, birthtimeMs: createdMs, ctimeMs: changedMs } = stat
  const nameCount = type === 'file' && stat.nlink > 1 ? { nameCount: stat.nlink } : {}
  const mode = stat.mode & 0o7777
  const owner = ownerOf(stat)
  const entry = { name, type, sizeBytes, modifiedMs, changedMs, mode, owner, ...nameCount } as const
  // File systems that do not know it say 0.
  return createdMs > 0 ? { ...entry, createdMs } : entry
}
