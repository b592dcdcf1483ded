import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { decodeJwt } from 'jose'

/** A pull that finds nothing is answered after so long. */
const waitMs = 200
const ackDeadlineMs = 10_000

interface Kept {
  readonly attributes: Readonly<Record<string, string>>
  readonly publishTime: string
  ackId: string
  hiddenUntilMs: number
}

/**
 * In the place of Pub/Sub: one subscription by the four calls of its REST reference. Each delivery has a receipt of its own;
 * messages come in any order, again when their deadline is over, and may come twice before.
 */
export class PubSubDouble implements AsyncDisposable {
  readonly subscription = 'projects/tests/subscriptions/changes'
  /** What a look at the subscription answers besides its name. */
  properties: Record<string, unknown> = {
    topic: 'projects/tests/topics/changes',
    messageRetentionDuration: '604800s',
    pushConfig: {},
    state: 'ACTIVE',
  }
  /** Answers every call so, if it is there. */
  refusal: { readonly code: number; readonly status: string } | undefined
  readonly #messages = new Map<string, Kept>()
  readonly #server = createServer((asked, answer) => {
    void this.#answer(asked, answer).catch(() => answer.destroy())
  })
  #arrived = Promise.withResolvers<void>()

  static async start(): Promise<PubSubDouble> {
    const double = new PubSubDouble()
    double.#server.listen(0, '127.0.0.1')
    await once(double.#server, 'listening')
    return double
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Messages that are not acknowledged. */
  get kept(): number {
    return this.#messages.size
  }

  /** Those of them that the next pull gets. */
  get waiting(): number {
    return [...this.#messages.values()].filter(({ hiddenUntilMs }) => hiddenUntilMs <= Date.now()).length
  }

  publish(attributes: Readonly<Record<string, string>>): void {
    const publishTime = new Date().toISOString()
    this.#messages.set(randomUUID(), { attributes, publishTime, ackId: '', hiddenUntilMs: 0 })
    this.#arrived.resolve()
    this.#arrived = Promise.withResolvers()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }

  async #answer(asked: IncomingMessage, answer: ServerResponse): Promise<void> {
    const [path, operation = ''] = decodeURIComponent(asked.url ?? '').split(':')
    const respond = (code: number, body: unknown) =>
      void answer.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    const refuse = (code: number, status: string) =>
      respond(code, { error: { code, message: `refused: ${status}`, status } })
    if (!isAllowed(asked)) return refuse(403, 'PERMISSION_DENIED')
    if (this.refusal !== undefined) return refuse(this.refusal.code, this.refusal.status)
    if (path !== `/v1/${this.subscription}`) return refuse(404, 'NOT_FOUND')
    if (asked.method === 'GET') return respond(200, { name: this.subscription, ...this.properties })
    const body = (await json(asked)) as {
      maxMessages?: number
      ackIds?: string[]
      ackDeadlineSeconds?: number
    }
    const named = [...this.#messages].filter(([, { ackId }]) => body.ackIds?.includes(ackId) === true)
    switch (operation) {
      case 'pull':
        return respond(200, await this.#pull(body.maxMessages ?? 0))
      case 'acknowledge':
        for (const [id] of named) this.#messages.delete(id)
        return respond(200, {})
      case 'modifyAckDeadline':
        for (const [, message] of named)
          message.hiddenUntilMs = Date.now() + (body.ackDeadlineSeconds ?? 0) * 1_000
        return respond(200, {})
      default:
        return refuse(404, 'NOT_FOUND')
    }
  }

  async #pull(maxMessages: number): Promise<object> {
    if (this.waiting === 0) {
      const { promise: over, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(resolve, waitMs)
      await Promise.race([this.#arrived.promise, over])
      clearTimeout(timer)
    }
    const due = [...this.#messages].filter(([, { hiddenUntilMs }]) => hiddenUntilMs <= Date.now())
    const taken = due.toReversed().slice(0, maxMessages)
    if (taken.length === 0) return {}
    return {
      receivedMessages: taken.map(([messageId, message]) => {
        message.ackId = randomUUID()
        message.hiddenUntilMs = Date.now() + ackDeadlineMs
        const { attributes, publishTime, ackId } = message
        return { ackId, message: { attributes, publishTime, messageId, data: 'e30=' } }
      }),
    }
  }
}

/** By a token for subscriptions; that its signature is right the server of Cloud Storage looks at. */
function isAllowed({ headers }: IncomingMessage): boolean {
  const [, token] = /^Bearer (.+)$/.exec(headers.authorization ?? '') ?? []
  const scopes = token === undefined ? [] : String(decodeJwt(token)['scope']).split(' ')
  return scopes.includes('https://www.googleapis.com/auth/pubsub')
}
