import type { DocumentPart } from '../../subjects/documents/incremental-document.ts'

/** The documents of some 4,000 extensions with 10 endpoints each, or of 1,000 that say much. */
const defaultMaxBytes = 67_108_864

/** Asked for at once, so that the next ones arrive while one is made, and not so many that their answers take long. */
const atOnce = 4

/** An extension that somebody sees, as it is at the moment. */
export interface Registered {
  readonly prefix: string
  /** Another one when what it brings may have changed. */
  readonly revision: string
}

interface Kept {
  readonly revision: string
  /** Undefined for one that is gone. */
  readonly part: Promise<DocumentPart | undefined>
  bytes: number
}

/** What extensions add to a document, kept as text until they register anew. Who sees which is not decided here. */
export class DocumentParts {
  readonly #make: (prefix: string) => Promise<DocumentPart | undefined>
  readonly #maxBytes: number
  /** In order of use: the first one was used longest ago. */
  readonly #kept = new Map<string, Kept>()
  #bytes = 0

  constructor(make: (prefix: string) => Promise<DocumentPart | undefined>, maxBytes = defaultMaxBytes) {
    this.#make = make
    this.#maxBytes = maxBytes
  }

  /** Those of these extensions that are still there. */
  async of(extensions: readonly Registered[]): Promise<DocumentPart[]> {
    const parts: DocumentPart[] = []
    for (let first = 0; first < extensions.length; first += atOnce) {
      const some = extensions.slice(first, first + atOnce).map((extension) => this.#part(extension))
      parts.push(...(await Promise.all(some)).filter((part) => part !== undefined))
    }
    return parts
  }

  #part({ prefix, revision }: Registered): Promise<DocumentPart | undefined> {
    const known = this.#kept.get(prefix)
    if (known?.revision === revision) {
      this.#kept.delete(prefix)
      this.#kept.set(prefix, known)
      return known.part
    }
    this.#forget(prefix)
    const kept: Kept = { revision, part: this.#make(prefix), bytes: 0 }
    this.#kept.set(prefix, kept)
    kept.part.then(
      (part) => {
        if (this.#kept.get(prefix) !== kept) return
        if (part === undefined) this.#forget(prefix)
        else this.#count(kept, part)
      },
      // Whoever comes next tries again.
      () => {
        if (this.#kept.get(prefix) === kept) this.#forget(prefix)
      },
    )
    return kept.part
  }

  #count(kept: Kept, { bytes }: DocumentPart): void {
    kept.bytes = bytes
    this.#bytes += bytes
    for (const prefix of this.#kept.keys()) {
      if (this.#bytes <= this.#maxBytes) return
      this.#forget(prefix)
    }
  }

  #forget(prefix: string): void {
    this.#bytes -= this.#kept.get(prefix)?.bytes ?? 0
    this.#kept.delete(prefix)
  }
}
