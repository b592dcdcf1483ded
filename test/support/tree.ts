import {
  chmodSync,
  closeSync,
  ftruncateSync,
  linkSync,
  mkdirSync,
  openSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { oneOf, randomBelow, seededRandom } from './random.ts'
import { localNames, nastyNames } from './tree-names.ts'

export interface TreeOptions {
  /** The same tree for the same seed. */
  readonly seed: number
  /** Files at least, the large one not counted. */
  readonly files: number
  /** Size of `large/one`; without it there is no large file. */
  readonly largeBytes?: number
  /** Only names that every store takes. */
  readonly isPortable?: boolean
}

/** Levels of the deepest folder; its path is short enough for every store. */
const depth = 40

/** Owner's rights are always there, so that the tests need not run as root. */
const fileModes = [0o644, 0o600, 0o755, 0o444, 0o664, 0o777, 0o400]
const folderModes = [0o755, 0o700, 0o775, 0o777, 0o1777, 0o711]

/** What a file of this tree may be as long as; the last is larger than what the engine moves in one piece. */
const usualBytes = [0, 1, 17, 100, 1_000, 4_095, 4_096, 4_097, 9_000]
const rareBytes = [70_000, 525_000, 1_100_000, 17 * 2 ** 20]

/** Between two contents of the large file, so that each part of a copy has some; the rest is a hole. */
const largeStride = 8 * 2 ** 20
const blockBytes = 64 * 1024

/**
 * Makes a folder full of what trips up a copy: empty files and folders, names of all kinds, links, modes, times, deep and
 * wide folders, and one large sparse file.
 */
export function makeTree(root: string, { seed, files, largeBytes, isPortable = false }: TreeOptions): void {
  const tree = new Tree(root, seed)
  for (const name of isPortable ? nastyNames : [...nastyNames, ...localNames]) {
    tree.file(['names', name])
    tree.file(['names in names', name, name])
    tree.folder(['empty', name])
  }
  makeDeep(tree, isPortable)
  makeLinks(tree)
  for (const bytes of [...usualBytes, ...rareBytes]) tree.file(['sizes', `${bytes}`], bytes)
  tree.times()
  linkSync(tree.path(['sizes', '1000']), tree.path(['sizes', 'hard link']))
  if (largeBytes !== undefined) tree.large(['large', 'one'], largeBytes)
  // Half in one wide folder, half in a thousand small ones.
  while (tree.files < files / 2) tree.file(['wide', `file ${tree.files}`])
  while (tree.files < files) {
    const folder = tree.files % 1_000
    tree.file(['small', `${folder % 10}`, `folder ${folder}`, `${tree.files}.data`])
  }
  tree.dressFolders()
}

/** Forty levels with a file in each, and long names one in the other, which only file systems take. */
function makeDeep(tree: Tree, isPortable: boolean): void {
  const levels: Segment[] = ['deep']
  for (let level = 0; level < depth; level++) {
    levels.push(`level ${level}`)
    tree.file([...levels, 'file'])
  }
  const long = Array.from({ length: 6 }, (_, index) => `${index}`.repeat(250))
  if (!isPortable) tree.file(['long', ...long, 'file'])
}

function makeLinks(tree: Tree): void {
  tree.link(['links', 'to file'], '../sizes/1000')
  tree.link(['links', 'to folder'], '../names')
  tree.link(['links', 'to itself'], 'to itself')
  tree.link(['links', 'dangling'], 'nothing/here')
  tree.link(['links', 'up'], '..')
  tree.link(['links', 'absolute'], '/etc/hostname')
  tree.link(['links', 'not utf-8'], Buffer.from([0x2f, 0xff, 0xfe]))
  for (const name of nastyNames)
    tree.link(['links', 'by name', name], Buffer.concat([name, name]).subarray(0, 250))
}

type Segment = string | Buffer

class Tree {
  files = 0
  readonly #root: Buffer
  readonly #random: () => number
  readonly #content: Buffer
  readonly #folders = new Set<string>()

  constructor(root: string, seed: number) {
    this.#root = Buffer.from(root)
    this.#random = seededRandom(seed)
    // Contents are cut out of this one.
    this.#content = Buffer.from(Uint32Array.from({ length: 2 ** 18 }, () => this.#random() * 2 ** 32).buffer)
    mkdirSync(root, { recursive: true })
  }

  path(segments: readonly Segment[]): Buffer {
    return Buffer.concat([this.#root, ...segments.flatMap((segment) => ['/', segment]).map(toBytes)])
  }

  folder(segments: readonly Segment[]): void {
    const path = this.path(segments)
    const key = path.toString('latin1')
    if (segments.length === 0 || this.#folders.has(key)) return
    this.folder(segments.slice(0, -1))
    mkdirSync(path)
    this.#folders.add(key)
  }

  file(segments: readonly Segment[], bytes = oneOf(this.#random, usualBytes)): void {
    const path = this.path(segments)
    this.folder(segments.slice(0, -1))
    const content =
      bytes <= 2 ** 19
        ? this.#content.subarray((this.files * 64) % 2 ** 19).subarray(0, bytes)
        : Buffer.concat(
            Array.from({ length: Math.ceil(bytes / 2 ** 20) }, () => this.#content),
            bytes,
          )
    writeFileSync(path, content)
    this.files += 1
    this.#dress(path)
  }

  link(segments: readonly Segment[], target: Segment): void {
    this.folder(segments.slice(0, -1))
    symlinkSync(target, this.path(segments))
  }

  /** A sparse file with blocks of content that differ, at its beginning, at its end and between. */
  large(segments: readonly Segment[], bytes: number): void {
    this.folder(segments.slice(0, -1))
    const path = this.path(segments)
    const fd = openSync(path, 'w')
    ftruncateSync(fd, bytes)
    const offsets = Array.from({ length: Math.ceil(bytes / largeStride) }, (_, index) => index * largeStride)
    for (const offset of [...offsets, bytes - blockBytes]) {
      const start = randomBelow(this.#random, this.#content.length - blockBytes)
      writeSync(fd, this.#content, start, Math.min(blockBytes, bytes - offset), offset)
    }
    closeSync(fd)
    this.#dress(path)
  }

  /** Times that are easily lost: the first seconds, the last of 32 bits and beyond. */
  times(): void {
    for (const seconds of [1, 2 ** 31 - 1, 2 ** 31 + 0.5, 4e9 + 0.123456]) {
      this.file(['times', `${seconds}`])
      utimesSync(this.path(['times', `${seconds}`]), seconds, seconds)
    }
  }

  dressFolders(): void {
    for (const key of this.#folders) this.#dress(Buffer.from(key, 'latin1'), folderModes)
  }

  #dress(path: Buffer, modes: readonly number[] = fileModes): void {
    const seconds = 631_152_000 + randomBelow(this.#random, 1e9) + randomBelow(this.#random, 1e6) / 1e6
    utimesSync(path, seconds, seconds)
    chmodSync(path, oneOf(this.#random, modes))
  }
}

const toBytes = (segment: Segment): Buffer => (typeof segment === 'string' ? Buffer.from(segment) : segment)
