import type { ContainerClient } from '@azure/storage-blob'

/** What happened to a blob. */
export interface BlobChange {
  readonly type: 'BlobCreated' | 'BlobDeleted'
  readonly name: string
}

/** Finds out what changed in a container. */
export class ContainerChanges {
  readonly #container: ContainerClient
  #known = new Map<string, string>()

  constructor(container: ContainerClient) {
    this.#container = container
  }

  /** What changed since it was asked last. */
  async next(): Promise<BlobChange[]> {
    const now = new Map<string, string>()
    for await (const { name, properties } of this.#container.listBlobsFlat()) now.set(name, properties.etag)
    const before = this.#known
    this.#known = now
    const created = [...now].filter(([name, etag]) => before.get(name) !== etag)
    const deleted = [...before.keys()].filter((name) => !now.has(name))
    return [
      ...created.map(([name]) => ({ type: 'BlobCreated', name }) as const),
      ...deleted.map((name) => ({ type: 'BlobDeleted', name }) as const),
    ]
  }
}
