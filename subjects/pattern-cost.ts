/**
 * How long a regular expression can take. JavaScript tries one way to match after another; a pattern of somebody else's
 * making must not have so many ways that a short text holds up the whole platform.
 */

/** How often a part may repeat: `{2,5}`, `*`. */
interface Repeat {
  readonly min: number
  readonly max: number
}

const once: Repeat = { min: 1, max: 1 }

/**
 * An upper bound of the ways in which a text of at most `maxLength` characters can be tried against a pattern: the product
 * of its choices. Infinity where they grow exponentially, and for what looks elsewhere in the text.
 * @param pattern a valid regular expression with the flag `u`
 */
export function patternCost(pattern: string, maxLength: number): number {
  const reader = new Reader(pattern, maxLength)
  const ways = reader.alternatives()
  const isAnchored = pattern.startsWith('^') && !reader.hasBranches
  return isAnchored ? ways : ways * maxLength
}

class Reader {
  readonly #text: string
  readonly #maxLength: number
  #at = 0
  #depth = 0
  /** Whether there is a `|` outside of all groups: what stands before it, as `^`, is of the first branch alone. */
  hasBranches = false

  constructor(text: string, maxLength: number) {
    this.#text = text
    this.#maxLength = maxLength
  }

  /** Ways through what is parted by `|`, up to the end of the group. */
  alternatives(): number {
    let ways = 0
    let branch = 1
    while (this.#at < this.#text.length && this.#text[this.#at] !== ')') {
      if (this.#text[this.#at] === '|') {
        this.#at += 1
        if (this.#depth === 0) this.hasBranches = true
        ways += branch
        branch = 1
      } else branch *= this.#repeated(this.#part())
    }
    return ways + branch
  }

  /** Ways through one character, class or group, without what repeats it. */
  #part(): number {
    const char = this.#text[this.#at]
    this.#at += 1
    if (char === '(') return this.#group()
    if (char === '[') this.#skipClass()
    if (char === '\\') return this.#escape()
    return 1
  }

  #group(): number {
    const [head = ''] = /^\?(?::|<?[=!]|<[^>]*>)/.exec(this.#text.slice(this.#at)) ?? []
    this.#at += head.length
    this.#depth += 1
    const ways = this.alternatives()
    this.#depth -= 1
    this.#at += 1
    return /[=!]$/.test(head) ? Infinity : ways
  }

  #skipClass(): void {
    while (this.#text[this.#at] !== ']') this.#at += this.#text[this.#at] === '\\' ? 2 : 1
    this.#at += 1
  }

  /** A reference to what a group has matched is not known before. */
  #escape(): number {
    const char = this.#text[this.#at] ?? ''
    this.#at += 1
    return /[1-9k]/.test(char) ? Infinity : 1
  }

  #repeated(ways: number): number {
    const { min, max } = this.#repeat()
    if (max === 1 && min === 1) return ways
    if (max === Infinity) return ways === 1 ? this.#maxLength : Infinity
    return (max - min + 1) * ways ** max
  }

  #repeat(): Repeat {
    const rest = this.#text.slice(this.#at)
    const [text, min, comma, max] = /^(?:[*+?]|\{(\d+)(,?)(\d*)\})\??/.exec(rest) ?? []
    if (text === undefined) return once
    this.#at += text.length
    if (text.startsWith('?')) return { min: 0, max: 1 }
    if (min === undefined) return { min: 0, max: Infinity }
    if (comma === '') return { min: Number(min), max: Number(min) }
    return { min: Number(min), max: max ? Number(max) : Infinity }
  }
}
