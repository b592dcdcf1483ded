import type { CatalogSpec } from '../../../subjects/metadata/kinds.ts'
import type { StoreBounds } from '../../drivers/contract/bounds.ts'
import type { Catalog } from '../catalogs/contract/catalog.ts'
import { openCatalog } from '../catalogs/index.ts'

/** How long one that nobody asks is kept open. */
const idleMs = 10_000

interface Idle {
  readonly catalog: Catalog
  readonly ending: NodeJS.Timeout
}

/**
 * Catalogs that are open at an agent: each is asked one thing at a time, as in a thread of the platform, and kept for the next
 * question, as connecting takes longer than most answers.
 */
export class OpenCatalogs {
  readonly #bounds: StoreBounds
  /** By what they were opened with. */
  readonly #idle = new Map<string, Idle[]>()

  constructor(bounds: StoreBounds) {
    this.#bounds = bounds
  }

  /** Throws as `openCatalog`, and what `asked` throws. */
  async use<T>(spec: CatalogSpec, asked: (catalog: Catalog) => Promise<T>): Promise<T> {
    const key = JSON.stringify(spec)
    const catalog = await this.#take(key, spec)
    try {
      return await asked(catalog)
    } finally {
      this.#keep(key, catalog)
    }
  }

  close(): void {
    for (const [key, its] of this.#idle) for (const one of [...its]) this.#end(key, one)
  }

  async #take(key: string, spec: CatalogSpec): Promise<Catalog> {
    const idle = this.#idle.get(key)?.pop()
    if (idle === undefined) return openCatalog(spec, { bounds: this.#bounds })
    clearTimeout(idle.ending)
    // What is allowed may have changed since it was opened.
    idle.catalog.requirePlace()
    return idle.catalog
  }

  #keep(key: string, catalog: Catalog): void {
    const idle: Idle = { catalog, ending: setTimeout(() => this.#end(key, idle), idleMs).unref() }
    const its = this.#idle.get(key) ?? []
    this.#idle.set(key, its)
    its.push(idle)
  }

  #end(key: string, idle: Idle): void {
    clearTimeout(idle.ending)
    idle.catalog.close()
    const others = (this.#idle.get(key) ?? []).filter((one) => one !== idle)
    if (others.length === 0) this.#idle.delete(key)
    else this.#idle.set(key, others)
  }
}
