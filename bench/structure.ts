/**
 * The structure of the code in numbers, of one commit beside another: `node bench/structure.ts <commit> [<commit>]`.
 * Tests, benches and examples are left out.
 */
import { execFileSync } from 'node:child_process'
import { dirname, join, normalize } from 'node:path'
import { parseArgs } from 'node:util'

const git = (...args: string[]): string =>
  execFileSync('git', args, { cwd: join(import.meta.dirname, '..'), maxBuffer: 2 ** 30 }).toString()

interface Source {
  readonly path: string
  readonly lines: readonly string[]
  /** Paths of ours that it imports; `isType`: for types alone. */
  readonly imports: readonly { readonly path: string; readonly isType: boolean }[]
}

function sourcesOf(commit: string): Source[] {
  const paths = git('ls-tree', '-r', '--name-only', commit)
    .split('\n')
    .filter((path) => path.endsWith('.ts') && !/^(test|bench|examples|docs)\/|^vitest/.test(path))
  return paths.map((path) => {
    const text = git('show', `${commit}:${path}`)
    const imports = Array.from(
      text.matchAll(/^(?:import|export) (type )?[^';]*?from '(\.[^']+)'/gm),
      ([, type, what]) => ({ path: normalize(join(dirname(path), what!)), isType: type !== undefined }),
    )
    return { path, lines: text.split('\n'), imports }
  })
}

/** The longest function, as the formatter indents it: its last line is a brace below the beginning of its first. */
function longestFunction(sources: readonly Source[]): { lines: number; place: string } {
  let longest = { lines: 0, place: '' }
  for (const { path, lines } of sources)
    for (const [index, line] of lines.entries()) {
      const begin =
        /^( *)(?!(?:if|for|while|switch|else|try|catch|return)\b)[^ /*].*(?:\)|\)?: [^=]+|=>) \{$/.exec(line)
      if (begin === null) continue
      const length = lines.slice(index).findIndex((one) => one.startsWith(`${begin[1]}}`)) + 1
      if (length > longest.lines) longest = { lines: length, place: `${path}:${index + 1}` }
    }
  return longest
}

function fullestFolder(paths: readonly string[]): { folders: number; entries: number; folder: string } {
  const entries = new Map<string, Set<string>>()
  for (const path of paths)
    for (let child = path; child !== '.'; child = dirname(child)) {
      const parent = dirname(child)
      if (parent !== '.') entries.set(parent, (entries.get(parent) ?? new Set()).add(child))
    }
  const [[folder, most] = ['', new Set<string>()]] = [...entries].toSorted(([, a], [, b]) => b.size - a.size)
  return { folders: entries.size, entries: most.size, folder }
}

/** Pairs of folders that import each other; a folder and one in it are no pair. */
function mutualFolders(sources: readonly Source[]): number {
  const edges = new Set(
    sources.flatMap(({ path, imports }) => imports.map((what) => `${dirname(path)} ${dirname(what.path)}`)),
  )
  const isPair = (edge: string): boolean => {
    const [from = '', to = ''] = edge.split(' ')
    return from < to && !to.startsWith(`${from}/`) && edges.has(`${to} ${from}`)
  }
  return [...edges].filter(isPair).length
}

/** What a file loads of ours, itself included. */
function loadedBy(sources: readonly Source[], path: string): number {
  const known = new Map(sources.map((source) => [source.path, source]))
  const loaded = new Set([path])
  for (const one of loaded)
    for (const what of known.get(one)?.imports ?? []) if (!what.isType) loaded.add(what.path)
  return loaded.size
}

function figuresOf(commit: string): Record<string, string | number> {
  const sources = sourcesOf(commit)
  const importers = new Map<string, number>()
  for (const { imports } of sources)
    for (const path of new Set(imports.map((what) => what.path)))
      importers.set(path, (importers.get(path) ?? 0) + 1)
  const { folders, entries, folder } = fullestFolder(sources.map(({ path }) => path))
  const { lines, place } = longestFunction(sources)
  return {
    files: sources.length,
    lines: sources.reduce((sum, source) => sum + source.lines.length, 0),
    folders,
    'entries of the fullest folder': `${entries} (${folder})`,
    'files with one importer': [...importers.values()].filter((count) => count === 1).length,
    'longest function': `${lines} lines (${place})`,
    'pairs of folders that import each other': mutualFolders(sources),
    'modules that every command of the CLI loads': loadedBy(sources, 'cli/run-command.ts'),
  }
}

const { positionals } = parseArgs({ allowPositionals: true })
const commits = positionals.length === 0 ? ['HEAD'] : positionals
const figures = commits.map((commit) => [commit, figuresOf(commit)] as const)
console.table(
  Object.fromEntries(
    Object.keys(figures[0]![1]).map((name) => [
      name,
      Object.fromEntries(figures.map(([commit, of]) => [commit, of[name]])),
    ]),
  ),
)
