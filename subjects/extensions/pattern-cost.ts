/**
 * How long a regular expression can take. JavaScript tries one way to match after another; a pattern of somebody else's
 * making must not have so much to try that a short text holds up the whole platform.
 */

/** What it takes to try a part at one place of a text, in every way. */
interface Cost {
  /** Ways to get through it: all that follows is tried after each of them. */
  readonly ways: number
  /** Steps on all of those ways together; a step is a character that is compared, which takes 5 ns or so. */
  readonly steps: number
}

interface Part {
  /** Fewest characters that it takes. */
  readonly least: number
  /** @param length of the text */
  readonly costAt: (length: number) => Cost
}

/** How often a part may repeat: `{2,5}`, `*`. */
interface Repeat {
  readonly min: number
  readonly max: number
}

const character: Part = { least: 1, costAt: () => ({ ways: 1, steps: 1 }) }
/** Some ranges of characters. */
const characters: Part = { least: 1, costAt: () => ({ ways: 1, steps: 2 }) }
/** Hundreds of ranges, as those of all letters. */
const property: Part = { least: 1, costAt: () => ({ ways: 1, steps: 8 }) }
/** The beginning, the end, the edge of a word. */
const place: Part = { least: 0, costAt: () => ({ ways: 1, steps: 1 }) }
/** What a group has matched before, and what stands elsewhere in the text, can be of any length. */
const unbounded: Part = { least: 0, costAt: () => ({ ways: Infinity, steps: Infinity }) }

/** What follows a backslash. */
const escape = /^(?:[pPu]\{[^}]*\}|u[0-9a-f]{4}|x[0-9a-f]{2}|c[a-z]|[^])/iu
const groupHead = /^\?(?:[a-z-]*:|<?[=!]|<[^>]*>)/
/** What looks elsewhere, and what changes the flags: without regard to case, a class takes long to be made. */
const unboundedHead = /[=!]$|[a-z-]:$/
const quantifier = /^(?:[*+?]|\{(\d+)(,?)(\d*)\})\??/

/**
 * An upper bound of the steps in which a text of some length is tried against a pattern: of each part those for all ways
 * through what stands before it. Infinity where they cannot be told.
 * @param pattern a valid regular expression with the flag `u`
 */
export function patternSteps(pattern: string): (length: number) => number {
  const reader = new Reader(pattern)
  const { costAt } = reader.alternatives()
  const isAnchored = pattern.startsWith('^') && !reader.hasBranches
  // Without ^ at its beginning it is tried at every place of the text.
  return (length) => costAt(length).steps * (isAnchored ? 1 : length + 1)
}

function sequence(parts: readonly Part[]): Part {
  const least = parts.reduce((sum, part) => sum + part.least, 0)
  const costAt = (length: number): Cost => {
    let ways = 1
    let steps = 0
    for (const part of parts) {
      const cost = part.costAt(length)
      steps += ways * cost.steps
      ways *= cost.ways
    }
    return { ways, steps }
  }
  return { least, costAt }
}

function choice(branches: readonly Part[]): Part {
  if (branches.length === 1) return branches[0]!
  const least = Math.min(...branches.map((branch) => branch.least))
  const costAt = (length: number): Cost => {
    const costs = branches.map((branch) => branch.costAt(length))
    return {
      ways: costs.reduce((sum, { ways }) => sum + ways, 0),
      steps: costs.reduce((sum, { steps }) => sum + steps + 1, 0),
    }
  }
  return { least, costAt }
}

/** A group notes where it begins and where it ends. */
const group = ({ least, costAt }: Part): Part => ({
  least,
  costAt: (length) => {
    const { ways, steps } = costAt(length)
    return { ways, steps: steps + 2 }
  },
})

function repeated(part: Part, { min, max }: Repeat): Part {
  const costAt = (length: number): Cost => {
    const { ways, steps } = part.costAt(length)
    // What takes no character repeats no more than it must.
    const room = part.least > 0 ? Math.floor(length / part.least) : min + length
    const most = Math.min(max, room)
    // The last try is the one that fails.
    const tries = Math.min(max, room + 1)
    return {
      ways: Math.max(1, powers(ways, most + 1) - (min > most ? 0 : powers(ways, min))),
      steps: powers(ways, tries) * steps + 1,
    }
  }
  return { least: min * part.least, costAt }
}

/** 1 + ways + ways² and so on, so many of them. */
function powers(ways: number, count: number): number {
  if (ways === 1) return count
  const sum = (ways ** count - 1) / (ways - 1)
  return Number.isNaN(sum) ? Infinity : sum
}

class Reader {
  readonly #text: string
  #at = 0
  #depth = 0
  /** Whether there is a `|` outside of all groups: what stands before it, as `^`, is of the first branch alone. */
  hasBranches = false

  constructor(text: string) {
    this.#text = text
  }

  /** What is parted by `|`, up to the end of the group. */
  alternatives(): Part {
    const branches: Part[][] = [[]]
    while (this.#at < this.#text.length && this.#text[this.#at] !== ')') {
      if (this.#text[this.#at] === '|') {
        this.#at += 1
        if (this.#depth === 0) this.hasBranches = true
        branches.push([])
      } else branches.at(-1)!.push(this.#repeated(this.#part()))
    }
    return choice(branches.map(sequence))
  }

  /** One character, class or group, without what repeats it. */
  #part(): Part {
    const char = String.fromCodePoint(this.#text.codePointAt(this.#at)!)
    this.#at += char.length
    if (char === '(') return this.#group()
    if (char === '[') return this.#class()
    if (char === '\\') return this.#escape()
    if (char === '.') return characters
    return char === '^' || char === '$' ? place : character
  }

  #group(): Part {
    const head = this.#take(groupHead)?.[0] ?? ''
    this.#depth += 1
    const inside = this.alternatives()
    this.#depth -= 1
    this.#at += 1
    return unboundedHead.test(head) ? unbounded : group(inside)
  }

  #class(): Part {
    const from = this.#at
    while (this.#text[this.#at] !== ']') this.#at += this.#text[this.#at] === '\\' ? 2 : 1
    this.#at += 1
    return /\\p/i.test(this.#text.slice(from, this.#at)) ? property : characters
  }

  #escape(): Part {
    const text = this.#take(escape)?.[0] ?? ''
    if (/^[1-9k]/.test(text)) return unbounded
    if (text === 'b' || text === 'B') return place
    return /^p/i.test(text) ? property : characters
  }

  #repeated(part: Part): Part {
    const [text, min, comma, max] = this.#take(quantifier) ?? []
    if (text === undefined) return part
    if (text.startsWith('?')) return repeated(part, { min: 0, max: 1 })
    if (min === undefined) return repeated(part, { min: text.startsWith('+') ? 1 : 0, max: Infinity })
    if (comma === '') return repeated(part, { min: Number(min), max: Number(min) })
    return repeated(part, { min: Number(min), max: max ? Number(max) : Infinity })
  }

  #take(form: RegExp): RegExpExecArray | undefined {
    const found = form.exec(this.#text.slice(this.#at))
    if (found === null) return undefined
    this.#at += found[0].length
    return found
  }
}
