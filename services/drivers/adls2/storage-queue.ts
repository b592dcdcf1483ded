import { setTimeout as delay } from 'node:timers/promises'
import { walkXml } from '../../../broker/common/xml.ts'
import type { BlobClient, BlobRequest } from '../azure-blob/client.ts'
import { failed } from '../azure-blob/errors.ts'
import type { MessageQueue, QueueMessage } from '../notifications/message-queue.ts'

/** Messages of one answer, the most that the service gives. */
const maxMessages = 32
/** Whoever dies leaves its messages hidden for so long at most; to hide one again costs a request. */
const hiddenMs = 180_000
/** The service does not wait for messages: an empty queue is asked again after so long, as each request costs money. */
const pollMs = { first: 250, most: 4_000 } as const
/** As Event Grid puts messages into queues, unless its subscription says otherwise, which the queue does not tell. */
const keepsMs = 7 * 24 * 3_600_000

/** Answers about a message that somebody else has, or has removed. */
const lost = ['MessageNotFound', 'PopReceiptMismatch']

/** A queue of Azure Queue Storage. */
export class StorageQueue implements MessageQueue {
  readonly name: string
  readonly hiddenMs = hiddenMs
  /** Of the queue itself: its protocol is that of blobs. */
  readonly #client: BlobClient
  readonly #url: string
  #turn: Promise<unknown> = Promise.resolve()
  /** Undefined where there may be more. */
  #waitMs: number | undefined

  /** @param url of the queue @param client at that URL; closed with the queue */
  constructor(url: string, client: BlobClient) {
    this.name = `queue ${url}`
    this.#url = url
    this.#client = client
  }

  async identify(signal: AbortSignal): Promise<{ readonly stream: string; readonly keepsMs: number }> {
    await this.#ask('read properties of', { method: 'GET', query: { comp: 'metadata' }, signal })
    return { stream: this.#url, keepsMs }
  }

  /** One at a time: more would find what is empty empty at once. */
  receive(signal: AbortSignal): Promise<readonly QueueMessage[]> {
    const turn = this.#turn.then(() => this.#receive(signal))
    this.#turn = turn.catch(() => undefined)
    return turn
  }

  async #receive(signal: AbortSignal): Promise<readonly QueueMessage[]> {
    if (this.#waitMs !== undefined) await delay(this.#waitMs, undefined, { signal })
    const query = { numofmessages: `${maxMessages}`, visibilitytimeout: `${hiddenMs / 1_000}` }
    const { body } = await this.#ask('read', { method: 'GET', blob: 'messages', query, signal })
    const messages = this.#messagesIn(body)
    this.#waitMs =
      messages.length > 0 ? undefined : Math.min((this.#waitMs ?? pollMs.first / 2) * 2, pollMs.most)
    return messages
  }

  async remove(messages: readonly QueueMessage[]): Promise<void> {
    await Promise.all(
      messages.map(({ receipt }) => {
        const { blob, popreceipt } = placeOf(receipt)
        const asked = { method: 'DELETE', blob, query: { popreceipt }, accept: lost } as const
        return this.#ask('remove a message of', asked)
      }),
    )
  }

  hide(messages: readonly QueueMessage[]): Promise<readonly (QueueMessage | undefined)[]> {
    // Of one that fails the others must not lose their new receipts.
    return Promise.all(messages.map((message) => this.#hide(message).catch(() => undefined)))
  }

  async #hide(message: QueueMessage): Promise<QueueMessage | undefined> {
    const { blob, popreceipt } = placeOf(message.receipt)
    const query = { popreceipt, visibilitytimeout: `${hiddenMs / 1_000}` }
    const asked = { method: 'PUT', blob, query, accept: lost } as const
    const { headers } = await this.#ask('hide a message of', asked)
    const next = headers['x-ms-popreceipt']
    return typeof next === 'string' ? { ...message, receipt: receiptOf(blob, next) } : undefined
  }

  close(): void {
    this.#client.close()
  }

  #ask(operation: string, asked: Omit<BlobRequest, 'what'>) {
    return this.#client.request({ ...asked, what: () => `${operation} ${this.name}` })
  }

  #messagesIn(body: Buffer): QueueMessage[] {
    const messages: QueueMessage[] = []
    let fields: Record<string, string> = {}
    try {
      walkXml(body, {
        open: (path) => {
          if (path === '/QueueMessage') fields = {}
        },
        close: (path, text) => {
          if (path !== '/QueueMessage') fields[path.slice('/QueueMessage/'.length)] = text
          else messages.push(messageOf(fields))
        },
      })
    } catch (cause) {
      throw failed('io', `read ${this.name}`, 'the answer is not what Queue Storage sends', { cause })
    }
    return messages
  }
}

function messageOf(fields: Readonly<Record<string, string>>): QueueMessage {
  const { MessageId = '', PopReceipt = '', InsertionTime = '', MessageText = '' } = fields
  const sentMs = Date.parse(InsertionTime)
  if (!/^[\w-]{1,100}$/.test(MessageId) || PopReceipt === '' || Number.isNaN(sentMs))
    throw new Error('a message without its id, receipt or time')
  return { body: MessageText, sentMs, receipt: receiptOf(`messages/${MessageId}`, PopReceipt) }
}

const receiptOf = (blob: string, popReceipt: string): string => `${blob} ${popReceipt}`

function placeOf(receipt: string): { readonly blob: string; readonly popreceipt: string } {
  const at = receipt.indexOf(' ')
  return { blob: receipt.slice(0, at), popreceipt: receipt.slice(at + 1) }
}
