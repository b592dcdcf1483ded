import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { getCompileCacheDir } from 'node:module'
import { basename, dirname, join } from 'node:path'
import type { CommandNode } from './tree.ts'

const root = join(import.meta.dirname, '..', '..')

/** Folders of what commands are made of. */
const sources = ['cli', 'config', 'subjects']

const prefix = 'commands-'

/** Where the tree of these sources is kept: beside the compiled code, and like that nowhere without write permission. */
function pathOfTree(): string | undefined {
  const folder = getCompileCacheDir()
  if (folder === undefined) return undefined
  const hash = createHash('sha256')
  for (const source of sources)
    for (const entry of readdirSync(join(root, source), { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue
      const path = join(entry.parentPath, entry.name)
      const { mtimeMs, size } = statSync(path)
      hash.update(`${path} ${mtimeMs} ${size}\n`)
    }
  return join(folder, `${prefix}${hash.digest('hex').slice(0, 16)}.json`)
}

/** All commands as they were when the sources were last changed; undefined where that is not kept. */
export function keptTree(): CommandNode | undefined {
  try {
    const path = pathOfTree()
    return path === undefined ? undefined : (JSON.parse(readFileSync(path, 'utf8')) as CommandNode)
  } catch {
    // There is none yet, or it is damaged: another one is made.
    return undefined
  }
}

/** Keeps the tree in place of older ones, as far as that is possible. @returns it */
export function keepTree(tree: CommandNode): CommandNode {
  try {
    const path = pathOfTree()
    if (path === undefined) return tree
    const folder = dirname(path)
    const old = readdirSync(folder).filter((name) => name.startsWith(prefix) && name !== basename(path))
    const temporary = `${path}.${process.pid}`
    writeFileSync(temporary, JSON.stringify(tree))
    renameSync(temporary, path)
    for (const name of old) rmSync(join(folder, name), { force: true })
  } catch {
    // Without it the next one takes as long.
  }
  return tree
}
