import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { RE2Set } from 're2js'
import { ageUnits, bytesOf, type Rule } from '../../../subjects/migrations/model/rules.ts'
import { type Entry, type StorePath, timeOf } from '../../drivers/contract/driver.ts'
import { leadingFolders } from '../patterns/glob.ts'
import { translate } from '../patterns/pattern.ts'
import { textFromPath } from '../items/paths.ts'
import { unpackWith } from './left-out.ts'

/** What a migration leaves out, and what it is confined to if there is anything; in the order in which they decide. */
export interface RuleLists {
  readonly exclusions: readonly Rule[]
  readonly inclusions: readonly Rule[]
}

/** Rules on their way to a thread: the bytes are in shared memory, so that it costs nothing to send them with every job. */
export interface PackedRules {
  /** Equal for equal rules. */
  readonly key: string
  readonly json: SharedArrayBuffer
}

/** Undefined when there are no rules, so that nothing is asked for any entry. */
export function packRules(lists: RuleLists): PackedRules | undefined {
  if (lists.exclusions.length + lists.inclusions.length === 0) return undefined
  const bytes = new TextEncoder().encode(JSON.stringify(lists))
  const json = new SharedArrayBuffer(bytes.length)
  new Uint8Array(json).set(bytes)
  return { key: hash('sha256', bytes, 'base64url'), json }
}

/**
 * What becomes of an entry: it is `taken`, a folder is `walked` when something below it may be included, or it is left out
 * by the exclusion of this id; without one, because no inclusion matches it.
 */
export type Verdict = 'taken' | 'walked' | { readonly excludedBy: string | undefined }

type Judged = Pick<Entry, 'type' | 'sizeBytes' | 'modifiedMs' | 'createdMs'>

/** What the rules look at of an entry of a folder. */
export type NamedEntry = Judged & Pick<Entry, 'name'>

export interface FolderRules {
  readonly isIncluded: boolean
  readonly verdict: (entry: NamedEntry) => Verdict
}

/** The rules of a migration, compiled. Paths are texts as `textFromPath` makes them. */
export class Rules {
  readonly #exclusions: Matcher
  readonly #inclusions: Matcher | undefined

  /** Throws GantryError NOT_ACCEPTED for a pattern that cannot be taken. */
  constructor({ exclusions, inclusions }: RuleLists) {
    this.#exclusions = new Matcher(exclusions)
    if (inclusions.length > 0) this.#inclusions = new Matcher(inclusions)
  }

  /** Whether there are inclusions: then a folder is made only for what it holds. */
  get isConfined(): boolean {
    return this.#inclusions !== undefined
  }

  /**
   * Whether a folder itself is included, and the verdicts on its entries.
   * @param isIncluded where that is known: all folders above it are looked at for that
   */
  inFolder(
    folder: StorePath,
    isIncluded = !this.isConfined || this.including(folder) !== undefined,
  ): FolderRules {
    const prefix = prefixOf(folder)
    return {
      isIncluded,
      verdict: (entry) => this.#decide(`${prefix}${textFromPath(entry.name)}`, entry, isIncluded),
    }
  }

  /** The inclusion that matches a folder or one above it, so that all of it is included, or else this entry of it. */
  including(folder: StorePath, entry?: NamedEntry): string | undefined {
    for (const path of withParents(folder)) {
      const id = this.#inclusions?.find(path, someFolder)
      if (id !== undefined) return id
    }
    if (entry === undefined) return undefined
    return this.#inclusions?.find(`${prefixOf(folder)}${textFromPath(entry.name)}`, entry)
  }

  /** The exclusion that a folder, or one above it as far as `root`, falls under; `root` itself is what was asked for. */
  excluding(folder: StorePath, root: StorePath): string | undefined {
    const below = withParents(folder).slice(withParents(root).length)
    for (const path of below) {
      const id = this.#exclusions.find(path, someFolder)
      if (id !== undefined) return id
    }
    return undefined
  }

  /** Whether something below a path may fall under other rules than the same below another path. */
  mayTellApart(path: StorePath): boolean {
    return this.isConfined || this.#exclusions.isOfPlaces(textFromPath(path))
  }

  #decide(path: string, entry: Judged, isIncluded: boolean): Verdict {
    const excludedBy = this.#exclusions.find(path, entry)
    if (excludedBy !== undefined) return { excludedBy }
    if (isIncluded || this.#inclusions?.find(path, entry) !== undefined) return 'taken'
    const mayHold = entry.type === 'folder' && this.#inclusions?.mayMatchBelow(path) === true
    return mayHold ? 'walked' : { excludedBy: undefined }
  }
}

const prefixOf = (folder: StorePath): string => (folder.length === 0 ? '' : textFromPath(folder))

const someFolder: Judged = { type: 'folder', sizeBytes: 0 }

/** `/`, `/a`, `/a/b` for a/b. */
function withParents(path: StorePath): string[] {
  if (path.length === 0) return ['/']
  const segments = textFromPath(path).split('/')
  return segments.map((_, index) => (index === 0 ? '/' : segments.slice(0, index + 1).join('/')))
}

/** Rules of one effect. */
class Matcher {
  readonly #ids: readonly string[]
  /** Tells all patterns that match in one pass; its ids are those of `#patternRules`. */
  readonly #patterns: RE2Set | undefined
  readonly #patternRules: number[] = []
  readonly #paths = new Map<string, number>()
  /** What is on the way to a listed path. */
  readonly #above = new Set<string>()
  readonly #ofFiles: { readonly rule: number; readonly matches: (file: Judged) => boolean }[] = []
  /** On the way to what a pattern may match; undefined when that may be anywhere. */
  #leading: Leading[] | undefined = []
  /** The same of those patterns that look at more than a name. */
  #placed: Leading[] | undefined = []

  constructor(rules: readonly Rule[]) {
    this.#ids = rules.map(({ id }) => id)
    const patterns = new RE2Set(RE2Set.ANCHOR_BOTH)
    for (const [index, rule] of rules.entries()) this.#add(rule, index, patterns)
    if (this.#patternRules.length === 0) return
    patterns.compile()
    this.#patterns = patterns
  }

  /** Id of the first rule that matches. */
  find(path: string, entry: Judged): string | undefined {
    let first = this.#paths.get(path) ?? Number.POSITIVE_INFINITY
    const [pattern] = this.#patterns?.match(path) ?? []
    if (pattern !== undefined) first = Math.min(first, this.#patternRules[pattern] ?? first)
    if (entry.type === 'file') {
      for (const { rule, matches } of this.#ofFiles) {
        if (rule < first && matches(entry)) first = rule
      }
    }
    return this.#ids[first]
  }

  /** Whether something below a folder may match; where that cannot be told, it may. */
  mayMatchBelow(folder: string): boolean {
    if (this.#leading === undefined || this.#ofFiles.length > 0 || this.#above.has(folder)) return true
    const segments = folder.split('/').slice(1)
    return this.#leading.some((leading) => leadsTo(leading, segments))
  }

  /** Whether a path, something above it or something below it may match for where it is. */
  isOfPlaces(path: string): boolean {
    if (this.#placed === undefined || this.#above.has(path)) return true
    const segments = path.split('/').slice(1)
    const isListed = segments.some((_, index) =>
      this.#paths.has(`/${segments.slice(0, index + 1).join('/')}`),
    )
    return isListed || this.#placed.some((leading) => leadsTo(leading, segments))
  }

  #add(rule: Rule, index: number, patterns: RE2Set): void {
    switch (rule.type) {
      case 'regex': {
        const { patternType = 'JAVA_PCRE', regex } = rule
        patterns.add(translate(patternType, regex))
        this.#patternRules.push(index)
        const leading = patternType === 'GLOB' ? leadingFolders(regex) : undefined
        const compiled = leading === undefined ? undefined : leadingOf(leading)
        if (compiled === undefined) this.#leading = undefined
        else this.#leading?.push(compiled)
        // A glob without a slash is one of names, wherever they are.
        const isOfNames = patternType === 'GLOB' && !regex.includes('/')
        if (isOfNames) break
        if (compiled === undefined) this.#placed = undefined
        else this.#placed?.push(compiled)
        break
      }
      case 'paths':
        for (const path of rule.paths) this.#addPath(path, index)
        break
      case 'fileSize': {
        const maxBytes = bytesOf(rule.value, rule.unit)
        this.#ofFiles.push({ rule: index, matches: ({ sizeBytes }) => sizeBytes > maxBytes })
        break
      }
      case 'date': {
        const beforeMs = Date.parse(rule.beforeIsoDateTime)
        this.#ofFiles.push({
          rule: index,
          matches: (entry) => (timeOf(entry) ?? beforeMs) < beforeMs,
        })
        break
      }
      case 'age': {
        const ageMs = rule.timeValue * ageUnits[rule.timeUnit]
        this.#ofFiles.push({
          rule: index,
          matches: (entry) => Date.now() - (timeOf(entry) ?? -Infinity) < ageMs,
        })
      }
    }
  }

  #addPath(path: string, index: number): void {
    if (!this.#paths.has(path)) this.#paths.set(path, index)
    for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1)) {
      const above = path.slice(0, at)
      if (this.#above.has(above)) break
      this.#above.add(above)
    }
    this.#above.add('/')
  }
}

/** A pattern for each of the leading folders of a glob, and whether more may follow. */
interface Leading {
  readonly folders: readonly RE2Set[]
  readonly isDeep: boolean
}

function leadingOf({ folders, isDeep }: { folders: string[]; isDeep: boolean }): Leading {
  const compiled = folders.map((folder) => {
    const set = new RE2Set(RE2Set.ANCHOR_BOTH)
    set.add(folder)
    set.compile()
    return set
  })
  return { folders: compiled, isDeep }
}

const leadsTo = ({ folders, isDeep }: Leading, segments: readonly string[]): boolean =>
  (isDeep || segments.length <= folders.length) &&
  folders.every((folder, index) => {
    const segment = segments[index]
    return segment === undefined || folder.match(segment).length > 0
  })

/** Compiled rules that a thread keeps; more only while that many migrations run. */
const maxKept = 16
const kept = new LRUCache<string, Rules>({ max: maxKept })

/** The rules, compiled once in each thread; the longest unused are forgotten. */
export function unpackRules({ key, json }: PackedRules): Rules {
  const rules = kept.get(key) ?? new Rules(JSON.parse(Buffer.from(json).toString()) as RuleLists)
  kept.set(key, rules)
  return rules
}

unpackWith(unpackRules)
