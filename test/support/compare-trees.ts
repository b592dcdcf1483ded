import { hash } from 'node:crypto'
import {
  type BigIntStats,
  closeSync,
  lstatSync,
  openSync,
  opendirSync,
  readlinkSync,
  readSync,
} from 'node:fs'
import { textFromPath } from '../../services/drivers/paths/path-text.ts'
import { unlessGone } from './until.ts'

/** Differences that are told; more of them say no more. */
const maxDifferences = 20
const chunkBytes = 2 ** 20
/** Node takes times as seconds in a double, which steps by 240 ns: they are compared to less than a microsecond. */
const usInMs = 0.001
const nsInMs = 1_000_000
const chunk = Buffer.allocUnsafeSlow(chunkBytes)

/** What stands at a path of a tree; `path` is relative to its root. */
export interface TreeEntry {
  readonly path: Buffer
  readonly stat: BigIntStats
}

/** All that is below a folder, parents first, in no other order. Names are bytes. */
export function* walkTree(root: string, folder: Buffer = Buffer.alloc(0)): Generator<TreeEntry> {
  const absolute = join(Buffer.from(root), folder)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the types leave out 'buffer', which node:fs takes
  const open = () => opendirSync(absolute, { encoding: 'buffer' as BufferEncoding, bufferSize: 1024 })
  // The root has to be there.
  using entries = folder.length === 0 ? open() : unlessGone(open)
  if (entries === undefined) return
  for (let dirent = entries.readSync(); dirent !== null; dirent = entries.readSync()) {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- with that encoding the name is a Buffer
    const path = join(folder, dirent.name as unknown as Buffer)
    const stat = lstatSync(join(Buffer.from(root), path), { bigint: true, throwIfNoEntry: false })
    // What goes while somebody looks is not there: a file under construction gets its name.
    if (stat === undefined) continue
    yield { path, stat }
    if (stat.isDirectory()) yield* walkTree(root, path)
  }
}

const join = (folder: Buffer, name: Buffer): Buffer =>
  folder.length === 0 ? name : name.length === 0 ? folder : Buffer.concat([folder, Buffer.from('/'), name])

/** SHA-256 of a file's content. */
export function digestOfFile(path: Buffer | string, sizeBytes: number): string {
  const digests: string[] = []
  const fd = openSync(path, 'r')
  try {
    for (let offset = 0; offset < sizeBytes; offset += chunkBytes) {
      const count = readSync(fd, chunk, 0, Math.min(chunkBytes, sizeBytes - offset), offset)
      digests.push(hash('sha256', chunk.subarray(0, count), 'hex'))
    }
  } finally {
    closeSync(fd)
  }
  return hash('sha256', digests.join(), 'hex')
}

/**
 * What differs between two trees, in words: names, types, contents by digest, links' targets, permission bits, and files'
 * times of last change in microseconds. (A folder's time is that of the last entry made in it, and not copied.)
 * @param expectMissing whether a path of `a` may be missing in `b`
 * @param withOwners whether owners are to be the same
 * @param grainMs times that differ by less are the same, where a store keeps them less exactly
 */
export function compareTrees(
  a: string,
  b: string,
  expectMissing: (path: Buffer) => boolean = () => false,
  withOwners = true,
  grainMs = usInMs,
): string[] {
  const differences: string[] = []
  const there = new Map<string, TreeEntry>()
  for (const entry of walkTree(b)) there.set(entry.path.toString('latin1'), entry)
  for (const entry of walkTree(a)) {
    const key = entry.path.toString('latin1')
    const other = there.get(key)
    there.delete(key)
    if (other === undefined) {
      if (!expectMissing(entry.path)) differences.push(`${textFromPath(entry.path)} is missing`)
    } else {
      const problem = differenceOf(a, b, entry, other, { withOwners, grainMs })
      if (problem !== undefined) differences.push(`${textFromPath(entry.path)}: ${problem}`)
    }
    if (differences.length >= maxDifferences) return differences
  }
  for (const { path } of there.values()) differences.push(`${textFromPath(path)} is too many`)
  return differences.slice(0, maxDifferences)
}

function differenceOf(
  a: string,
  b: string,
  { path, stat }: TreeEntry,
  { stat: other }: TreeEntry,
  { withOwners, grainMs }: { readonly withOwners: boolean; readonly grainMs: number },
): string | undefined {
  const [type, itsType] = [typeOf(stat), typeOf(other)]
  if (type !== itsType) return `${type} became ${itsType}`
  const [from, to] = [join(Buffer.from(a), path), join(Buffer.from(b), path)]
  if (type === 'link') {
    const [target, its] = [from, to].map((link) => readlinkSync(link, { encoding: 'buffer' }))
    return its!.equals(target!) ? undefined : 'the link leads elsewhere'
  }
  const [mode, itsMode] = [stat, other].map((one) => Number(one.mode) & 0o7777)
  if (mode !== itsMode) return `mode ${mode!.toString(8)} became ${itsMode!.toString(8)}`
  const [owner, itsOwner] = [stat, other].map(({ uid, gid }) => `${uid}:${gid}`)
  if (withOwners && owner !== itsOwner) return `owner ${owner} became ${itsOwner}`
  const laterNs = Number(other.mtimeNs - stat.mtimeNs)
  if (Math.abs(laterNs) >= grainMs * nsInMs) return `its time moved by ${laterNs} ns`
  if (type !== 'file') return undefined
  if (stat.size !== other.size) return `${stat.size} bytes became ${other.size}`
  const bytes = Number(stat.size)
  return digestOfFile(from, bytes) === digestOfFile(to, bytes) ? undefined : 'another content'
}

const typeOf = (stat: BigIntStats) =>
  stat.isFile() ? 'file' : stat.isDirectory() ? 'folder' : stat.isSymbolicLink() ? 'link' : 'other'
