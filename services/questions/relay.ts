import type { MessagePort } from 'node:worker_threads'
import { receivedError, type SentError, sendableError } from '../drivers/contract/sent-error.ts'

/** What a thread cannot do by itself it has its process do. Questions and answers are plain data. */
export type Relay = (question: never, signal: AbortSignal) => Promise<unknown>

interface Relayed {
  readonly id: number
  readonly question: unknown
}
type Answered = { readonly id: number } & ({ readonly answer: unknown } | { readonly error: SentError })

/** Does what a thread asks until it ends, which aborts what is under way. Never keeps the process alive. */
export function serveRelay(port: MessagePort, relay: Relay): void {
  const ended = new AbortController()
  port.on('close', () => ended.abort(new Error('the thread that asked has ended')))
  port.on('message', ({ id, question }: Relayed) => {
    void relay(question as never, ended.signal)
      .then(
        (answer): Answered => ({ id, answer }),
        (error: unknown): Answered => ({ id, error: sendableError(error) }),
      )
      .then((answered) => port.postMessage(answered, []))
  })
  port.unref()
}

/** In the thread: asks its process over the other end of the port. */
export function relayOver(port: MessagePort): (question: object, signal: AbortSignal) => Promise<unknown> {
  const waiting = new Map<number, PromiseWithResolvers<unknown>>()
  let last = 0
  port.on('message', (answered: Answered) => {
    const asked = waiting.get(answered.id)
    if ('error' in answered) asked?.reject(receivedError(answered.error))
    else asked?.resolve(answered.answer)
  })
  return async (question, signal) => {
    signal.throwIfAborted()
    const id = ++last
    const asked = Promise.withResolvers<unknown>()
    const abort = () => asked.reject(signal.reason)
    waiting.set(id, asked)
    signal.addEventListener('abort', abort, { once: true })
    port.postMessage({ id, question } satisfies Relayed, [])
    try {
      return await asked.promise
    } finally {
      signal.removeEventListener('abort', abort)
      waiting.delete(id)
    }
  }
}
