import { type Dirent, lstatSync, readdirSync, type Stats } from 'node:fs'
import { textFromPath } from '../../services/drivers/path-text.ts'
import { digestOfFile } from '../support/compare-trees.ts'
import type { Sight } from './kills.ts'

const temporaryPrefix = '.gantry~'
const slash = Buffer.from('/')

/**
 * Files of a target that is being written which stand under their final name, and those that are not what they are at the
 * source. Files come and go meanwhile: what is gone when it is looked at was a temporary name or is being replaced.
 */
export function lookAtFiles(source: string, target: string): Sight {
  const found = [...walk(Buffer.from(source), Buffer.from(target), Buffer.alloc(0))]
  return { files: found.length, partial: found.filter(({ whole }) => !whole).map(({ path }) => path) }
}

function* walk(source: Buffer, target: Buffer, folder: Buffer): Generator<{ path: string; whole: boolean }> {
  const at = (root: Buffer, path: Buffer) => (path.length === 0 ? root : Buffer.concat([root, slash, path]))
  let entries: Dirent<Buffer>[]
  try {
    entries = readdirSync(at(target, folder), { withFileTypes: true, encoding: 'buffer' })
  } catch {
    return
  }
  for (const entry of entries) {
    const path = folder.length === 0 ? entry.name : Buffer.concat([folder, slash, entry.name])
    if (entry.isDirectory()) yield* walk(source, target, path)
    else if (entry.isFile() && !entry.name.toString('latin1').startsWith(temporaryPrefix))
      yield { path: textFromPath(path), whole: isWhole(at(source, path), at(target, path)) }
  }
}

function isWhole(from: Buffer, to: Buffer): boolean {
  const stat = lookAt(to)
  if (stat === undefined) return true
  const size = lstatSync(from).size
  return stat.size === size && digestOfFile(from, size) === digestOfFile(to, size)
}

function lookAt(path: Buffer): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false })
}
