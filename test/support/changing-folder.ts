import {
  appendFileSync,
  chmodSync,
  lstatSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { walkTree } from './compare-trees.ts'
import { oneOf, randomBelow } from './random.ts'

/** A large file goes in parts, by an item of its own. */
const largeBytes = 17 * 2 ** 20
const fileModes = [0o644, 0o600, 0o755, 0o444]
const folderModes = [0o755, 0o700, 0o775]

/** A path here is its bytes, each as one character: names need not be UTF-8. */
const bytesOf = (path: string): Buffer => Buffer.from(path, 'latin1')
const pathOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1')

/** Few names, so that they are used again and again, as files, folders and links in turn. */
const plainNames = ['a', 'b', 'c', 'd', 'e', 'ü', 'a b'].map((name) => pathOf(Buffer.from(name)))

/** One that differs from another only in its Unicode form, and two that are not UTF-8. */
const oddNames = [pathOf(Buffer.from('ü'.normalize('NFD'))), '\xff', 'a\xfc']

/** Trees that are alike, to be written to again and to change their places. */
const rememberedAlike = 4

type Random = () => number
type Type = 'file' | 'folder' | 'link'

/** What a name ends with where it keeps its type. */
const endings: Record<Type, string> = { file: '', folder: '.d', link: '.l' }

/** A folder in which something happens at random: files, folders and links come, change, move and go. */
export class ChangingFolder {
  readonly #root: string
  readonly #random: Random
  readonly #keepsTypes: boolean
  readonly #swaps: boolean
  readonly #names: readonly string[]
  #writes = 0
  /** Trees that had the same names, sizes and times when they were made. */
  #alike: string[] = []

  /**
   * @param options `keepsTypes`: what was a file never becomes a folder, and so on; `swaps`: two files or two folders change
   *   their places, which nobody finds who did not see it when all in them has the same size and time;
   *   `oddNames`: some names are not UTF-8, and two differ only in their Unicode form
   */
  constructor(
    root: string,
    random: Random,
    options: { keepsTypes?: boolean; swaps?: boolean; oddNames?: boolean } = {},
  ) {
    const { keepsTypes = false, swaps = false, oddNames: hasOdd = false } = options
    this.#swaps = swaps
    this.#names = hasOdd ? [...plainNames, ...oddNames] : plainNames
    this.#root = pathOf(Buffer.from(root))
    this.#random = random
    this.#keepsTypes = keepsTypes
  }

  /** Does something at random, and says what. */
  step(): string {
    const actions = [
      () => this.#write(),
      () => this.#write(),
      () => this.#append(),
      () => this.#replace(),
      () => this.#makeFolder(),
      () => this.#makeFolder(),
      () => this.#makeTree(),
      () => this.#rename(),
      () => this.#rename(),
      () => this.#remove(),
      () => this.#removeAndMakeAgain(),
      () => this.#link(),
      () => this.#mode(),
      () => this.#time(),
      () => this.#same(),
      ...(this.#swaps ? [() => this.#swap()] : []),
      ...(randomBelow(this.#random, 10) === 0 ? [() => this.#large()] : []),
    ]
    return oneOf(this.#random, actions)()
  }

  #all(type?: 'file' | 'folder'): string[] {
    const entries = [...walkTree(bytesOf(this.#root).toString())]
    const isWanted = ({ stat }: (typeof entries)[number]) =>
      type === undefined || (type === 'file' ? stat.isFile() : stat.isDirectory())
    return entries.filter(isWanted).map(({ path }) => join(this.#root, pathOf(path)))
  }

  #one(type?: 'file' | 'folder'): string | undefined {
    const all = this.#all(type)
    return all.length === 0 ? undefined : oneOf(this.#random, all)
  }

  /** Somewhere, there or not. */
  #place(type: Type): string {
    const name = oneOf(this.#random, this.#names) + (this.#keepsTypes ? endings[type] : '')
    return join(this.#one('folder') ?? this.#root, name)
  }

  #content(): string {
    return `${++this.#writes} `.repeat(1 + randomBelow(this.#random, 30))
  }

  #write(): string {
    const path = this.#place('file')
    return this.#try(`write ${path}`, () => writeFileSync(bytesOf(path), this.#content()))
  }

  #append(): string {
    const path = this.#one('file') ?? this.#place('file')
    return this.#try(`append to ${path}`, () => appendFileSync(bytesOf(path), this.#content()))
  }

  /** The way editors write: another file takes the place. */
  #replace(): string {
    const path = this.#place('file')
    const other = `${path}~`
    return this.#try(`replace ${path}`, () => {
      writeFileSync(bytesOf(other), this.#content())
      renameSync(bytesOf(other), bytesOf(path))
    })
  }

  #makeFolder(): string {
    const path = this.#place('folder')
    return this.#try(`make folder ${path}`, () => mkdirSync(bytesOf(path), oneOf(this.#random, folderModes)))
  }

  #makeTree(): string {
    const path = this.#place('folder')
    return this.#try(`make tree ${path}`, () => {
      mkdirSync(bytesOf(join(path, 'x/y')), { recursive: true })
      for (const name of ['1', 'x/2', 'x/y/3']) writeFileSync(bytesOf(join(path, name)), this.#content())
    })
  }

  #rename(): string {
    const from = this.#one()
    if (from === undefined) return 'nothing to rename'
    const to = this.#place(typeAt(from))
    return this.#try(`rename ${from} to ${to}`, () => renameSync(bytesOf(from), bytesOf(to)))
  }

  #remove(): string {
    const path = this.#one()
    if (path === undefined) return 'nothing to remove'
    return this.#try(`remove ${path}`, () => rmSync(bytesOf(path), { recursive: true }))
  }

  #removeAndMakeAgain(): string {
    const path = this.#one()
    if (path === undefined) return 'nothing to make again'
    return this.#try(`make again ${path}`, () => {
      const wasFolder = lstatSync(bytesOf(path)).isDirectory()
      rmSync(bytesOf(path), { recursive: true })
      const turns = randomBelow(this.#random, 2) === 0 && !this.#keepsTypes
      if (wasFolder === turns) writeFileSync(bytesOf(path), this.#content())
      else {
        mkdirSync(bytesOf(path))
        writeFileSync(bytesOf(join(path, 'a')), this.#content())
      }
    })
  }

  #link(): string {
    const path = this.#place('link')
    const target = oneOf(this.#random, ['nowhere', relative(dirname(path), this.#one() ?? path)])
    return this.#try(`link ${path} to ${target}`, () => symlinkSync(bytesOf(target), bytesOf(path)))
  }

  #mode(): string {
    const path = this.#one(oneOf(this.#random, ['file', 'folder']))
    if (path === undefined) return 'nothing to give a mode'
    return this.#try(`mode of ${path}`, () => {
      const isFolder = lstatSync(bytesOf(path)).isDirectory()
      chmodSync(bytesOf(path), oneOf(this.#random, isFolder ? folderModes : fileModes))
    })
  }

  #time(): string {
    const path = this.#one('file')
    if (path === undefined) return 'nothing to give a time'
    return this.#try(`time of ${path}`, () =>
      utimesSync(bytesOf(path), 1e9, 1e9 + randomBelow(this.#random, 1e6)),
    )
  }

  /** Trees of files of one size and time, as builds and archives make them. */
  #same(): string {
    const path = oneOf(this.#random, [this.#place('folder'), ...this.#alike])
    if (!this.#alike.includes(path)) this.#alike = [path, ...this.#alike].slice(0, rememberedAlike)
    return this.#try(`same tree ${path}`, () => {
      mkdirSync(bytesOf(join(path, 'x')), { recursive: true })
      for (const name of ['1', 'x/2']) {
        writeFileSync(bytesOf(join(path, name)), `${++this.#writes}`.padStart(8))
        utimesSync(bytesOf(join(path, name)), 1e9, 1e9)
      }
    })
  }

  #swap(): string {
    const type = oneOf(this.#random, ['file', 'folder'] as const)
    const alike = this.#alike.flatMap((tree) => (type === 'file' ? join(tree, '1') : tree))
    const some = () => oneOf(this.#random, [this.#one(type), ...alike])
    const [one, other] = [some(), some()]
    if (one === undefined || other === undefined || one === other) return 'nothing to swap'
    return this.#try(`swap ${one} and ${other}`, () => {
      const aside = `${one}~`
      renameSync(bytesOf(one), bytesOf(aside))
      try {
        renameSync(bytesOf(other), bytesOf(one))
        renameSync(bytesOf(aside), bytesOf(other))
      } catch (error) {
        renameSync(bytesOf(aside), bytesOf(one))
        throw error
      }
    })
  }

  #large(): string {
    const path = this.#place('file')
    return this.#try(`large ${path}`, () => {
      writeFileSync(bytesOf(path), this.#content())
      truncateSync(bytesOf(path), largeBytes + randomBelow(this.#random, 100))
    })
  }

  /** What cannot be done, such as a folder moved into itself, is left. */
  #try(what: string, work: () => void): string {
    const text = what.replaceAll(/[^ -~]/g, (byte) => `%${byte.charCodeAt(0).toString(16)}`)
    try {
      work()
      return text
    } catch (error) {
      return `${text}: ${(error as Error).message}`
    }
  }
}

function typeAt(path: string): Type {
  const stat = lstatSync(bytesOf(path))
  return stat.isDirectory() ? 'folder' : stat.isFile() ? 'file' : 'link'
}
