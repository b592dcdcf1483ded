import { type Models, referring } from './document.ts'

const encoder = new TextEncoder()

/** What one extension adds to a document, made once for each of its registrations. */
export interface DocumentPart {
  /** JSON in UTF-8 of the entries that it adds, each after a comma, by the section where they go. */
  readonly own: ReadonlyMap<string, Uint8Array>
  /** Names of entries that others may need as well. */
  readonly shared: ReadonlySet<string>
  /** Length of it all. */
  readonly bytes: number
}

/** Entries that are the same whoever adds them: where they go, and the value of one by its name. */
export interface SharedEntries {
  readonly section: string
  readonly valueOf: (name: string) => object
}

/** The section of the models, which each part has under names that begin with its own. */
const modelSection = 'components.schemas'

/** Collects what an extension adds. */
export class PartMaker {
  readonly #prefix: string
  readonly #texts = new Map<string, string>()
  readonly #models: Models = new Map()
  readonly #shared = new Set<string>()

  constructor(prefix: string) {
    this.#prefix = prefix
  }

  /** @param entries of an object, or items of a list */
  add(section: string, entries: object): void {
    const referred = referring(entries, this.#models, (title) => `${this.#prefix}.${title}`)
    this.#write(section, referred)
  }

  share(names: Iterable<string>): void {
    for (const name of names) this.#shared.add(name)
  }

  finish(): DocumentPart {
    this.#write(modelSection, Object.fromEntries(this.#models))
    const own = new Map(Array.from(this.#texts, ([section, text]) => [section, encoder.encode(text)]))
    const bytes = own.values().reduce((sum, { byteLength }) => sum + byteLength, 0)
    return { own, shared: this.#shared, bytes }
  }

  #write(section: string, entries: object): void {
    const texts = Array.isArray(entries)
      ? entries.map((item) => `,${JSON.stringify(item)}`)
      : Object.entries(entries).map(([name, value]) => `,${JSON.stringify(name)}:${JSON.stringify(value)}`)
    if (texts.length > 0) this.#texts.set(section, (this.#texts.get(section) ?? '') + texts.join(''))
  }
}

/** Text of a document, or the name of the section that may grow here. */
type Piece = string | { readonly section: string }

/**
 * A document that others add parts to. It is written piece by piece, as with a thousand extensions it has some MB: no
 * object of it all is ever made.
 */
export class IncrementalDocument {
  readonly #pieces: readonly (Uint8Array | { readonly section: string })[]
  readonly #shared: SharedEntries
  readonly #known: ReadonlySet<string>

  /**
   * @param document plain JSON; each section has entries of its own already
   * @param sections what may grow: names of objects and lists, with a dot before one that is inside of another
   */
  constructor(document: object, sections: readonly string[], shared: SharedEntries) {
    const all = [...sections, shared.section, modelSection]
    this.#pieces = joined(piecesOf(document, all))
    this.#shared = shared
    this.#known = new Set(Object.keys(valueAt(document, shared.section)))
  }

  /** Its JSON in UTF-8 with these parts, in pieces of any length. */
  *with(parts: readonly DocumentPart[]): Generator<Uint8Array> {
    for (const piece of this.#pieces) {
      if (piece instanceof Uint8Array) yield piece
      else {
        for (const { own } of parts) {
          const text = own.get(piece.section)
          if (text !== undefined) yield text
        }
        if (piece.section === this.#shared.section) yield* this.#sharedOf(parts)
      }
    }
  }

  *#sharedOf(parts: readonly DocumentPart[]): Generator<Uint8Array> {
    const written = new Set(this.#known)
    for (const { shared } of parts) {
      for (const name of shared) {
        if (written.has(name)) continue
        written.add(name)
        yield encoder.encode(`,${JSON.stringify(name)}:${JSON.stringify(this.#shared.valueOf(name))}`)
      }
    }
  }
}

function* piecesOf(value: object, sections: readonly string[], at = ''): Generator<Piece> {
  const isList = Array.isArray(value)
  yield isList ? '[' : '{'
  for (const [index, [key, inner]] of Object.entries(value as Record<string, unknown>).entries()) {
    const path = at === '' ? key : `${at}.${key}`
    yield `${index === 0 ? '' : ','}${isList ? '' : `${JSON.stringify(key)}:`}`
    const grows = sections.some((section) => section === path || section.startsWith(`${path}.`))
    if (grows) yield* piecesOf(inner as object, sections, path)
    else yield JSON.stringify(inner)
  }
  if (sections.includes(at)) yield { section: at }
  yield isList ? ']' : '}'
}

/** With the texts between two sections as one. */
function joined(pieces: Iterable<Piece>): (Uint8Array | { readonly section: string })[] {
  const all: (Uint8Array | { readonly section: string })[] = []
  let text = ''
  for (const piece of pieces) {
    if (typeof piece === 'string') text += piece
    else {
      all.push(encoder.encode(text), piece)
      text = ''
    }
  }
  return [...all, encoder.encode(text)]
}

const valueAt = (document: object, section: string): object =>
  section.split('.').reduce((value, key) => (value as Readonly<Record<string, object>>)[key] ?? {}, document)
