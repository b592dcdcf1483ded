import type { ContainerClient } from '@azure/storage-blob'
import type { QueueClient } from '@azure/storage-queue'
import { randomUUID } from 'node:crypto'

/** What happened to a blob. */
export interface BlobChange {
  readonly type: 'BlobCreated' | 'BlobDeleted'
  readonly name: string
}

/** In the place of Event Grid: finds out what changed in a container, and puts messages about it into a queue. */
export class EventGridDouble {
  readonly #container: ContainerClient
  readonly #queue: QueueClient
  #known = new Map<string, string>()
  #sent = 0

  constructor(container: ContainerClient, queue: QueueClient) {
    this.#container = container
    this.#queue = queue
  }

  /** What changed since it was asked last. */
  async changes(): Promise<BlobChange[]> {
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

  /** Sends messages in both schemas in turn, in base64 as Event Grid does. */
  async tell(changes: readonly BlobChange[]): Promise<void> {
    for (const change of changes) {
      const event = this.#sent++ % 2 === 0 ? this.#event(change) : this.#cloudEvent(change)
      await this.#queue.sendMessage(Buffer.from(JSON.stringify(event)).toString('base64'))
    }
  }

  #event({ type, name }: BlobChange) {
    return {
      topic: '/subscriptions/s/resourceGroups/g/providers/Microsoft.Storage/storageAccounts/gantrytest',
      subject: this.#subject(name),
      eventType: `Microsoft.Storage.${type}`,
      id: randomUUID(),
      data: { api: type === 'BlobCreated' ? 'PutBlob' : 'DeleteBlob', url: this.#url(name) },
      dataVersion: '',
      metadataVersion: '1',
      eventTime: new Date().toISOString(),
    }
  }

  #cloudEvent({ type, name }: BlobChange) {
    return {
      source: '/subscriptions/s/resourceGroups/g/providers/Microsoft.Storage/storageAccounts/gantrytest',
      subject: this.#subject(name),
      type: `Microsoft.Storage.${type}`,
      time: new Date().toISOString(),
      id: randomUUID(),
      data: { api: type === 'BlobCreated' ? 'PutBlob' : 'DeleteBlob', url: this.#url(name) },
      specversion: '1.0',
    }
  }

  #subject(name: string): string {
    return `/blobServices/default/containers/${this.#container.containerName}/blobs/${name}`
  }

  #url(name: string): string {
    return `https://gantrytest.blob.core.windows.net/${this.#container.containerName}/${name}`
  }
}
