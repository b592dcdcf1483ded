/** Known failures that an item of work deals with while it is worked on: those that do not fail again are mended. */
export class MetFailures {
  /** By path, when each had failed last. */
  readonly failedAt: Map<string, number>
  readonly #touched: (item: Uint8Array) => readonly string[]

  /** @param touched known failures of what an item deals with */
  constructor(failedAt: Map<string, number>, touched: (item: Uint8Array) => readonly string[]) {
    this.failedAt = failedAt
    this.#touched = touched
  }

  /** Other items will tell whether these have arrived. */
  handOn(items: readonly Uint8Array[]): void {
    for (const item of items) for (const path of this.#touched(item)) this.failedAt.delete(path)
  }
}
