import type { ContainerClient } from '@azure/storage-blob'
import type { QueueClient } from '@azure/storage-queue'
import { randomUUID } from 'node:crypto'
import { type BlobChange, ContainerChanges } from './container-changes.ts'

/** In the place of Event Grid: finds out what changed in a container, and puts messages about it into a queue. */
export class EventGridDouble {
  readonly #container: ContainerClient
  readonly #queue: QueueClient
  readonly #changes: ContainerChanges
  #sent = 0

  constructor(container: ContainerClient, queue: QueueClient) {
    this.#container = container
    this.#changes = new ContainerChanges(container)
    this.#queue = queue
  }

  /** What changed since it was asked last. */
  changes(): Promise<BlobChange[]> {
    return this.#changes.next()
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
