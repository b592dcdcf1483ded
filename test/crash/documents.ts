import { hash } from 'node:crypto'
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { randomBelow } from '../support/random.ts'

/** Few, so that each changes often while it is copied. */
const names = Array.from({ length: 40 }, (_, index) => `${index}`)
/** Some go in several reads and writes. */
const longestBytes = 300_000

/**
 * Files that somebody writes to, and of which one can see whether they are whole, whichever version it is: documents are
 * replaced and say their own digest, journals only grow.
 */
export class Documents {
  readonly #folder: string
  readonly #stage: string
  readonly #random: () => number
  #version = 0

  /** @param stage a folder of the same file system, outside of what is migrated */
  constructor(folder: string, stage: string, random: () => number) {
    this.#folder = folder
    this.#stage = stage
    this.#random = random
    mkdirSync(folder)
    for (const _ of names) this.step()
  }

  /** Writes to one of them, or removes one. */
  step(): void {
    const kind = randomBelow(this.#random, 10)
    const name = names[randomBelow(this.#random, names.length)]!
    const bytes = randomBelow(this.#random, longestBytes)
    if (kind === 0) rmSync(join(this.#folder, `document ${name}`), { force: true })
    else if (kind < 4) appendFileSync(join(this.#folder, `journal ${name}`), this.#line())
    else {
      const staged = join(this.#stage, name)
      writeFileSync(staged, document(this.#line().repeat(bytes / 10)))
      renameSync(staged, join(this.#folder, `document ${name}`))
    }
  }

  /** Which of the copies in a target were never there like this. */
  partialIn(target: string): string[] {
    return namesIn(target).filter((name) => {
      const copy = read(join(target, name))
      if (copy === undefined) return false
      if (name.startsWith('document ')) return !isDocument(copy)
      return !name.startsWith('journal ') || read(join(this.#folder, name))?.startsWith(copy) !== true
    })
  }

  #line(): string {
    return `${++this.#version} of all\n`
  }
}

const document = (body: string) => `${hash('sha256', body)}\n${body}`

function isDocument(text: string): boolean {
  const end = text.indexOf('\n')
  return document(text.slice(end + 1)) === text
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => !name.startsWith('.gantry~'))
  } catch {
    return []
  }
}

/** Undefined for one that was replaced or removed meanwhile. */
function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return undefined
  }
}
