import { type NatsConnection, wsconnect } from '@nats-io/nats-core'
import type { Contract, Input, Output } from '../subjects/kit/contract.ts'
import { answerOf, call, request } from './call.ts'
import { connectionOptions } from './credentials.ts'
import { isFact } from './facts.ts'
import { secretly } from './secret-replies.ts'

/** A page's connection to the broker. */
export interface PageConnection {
  /** @throws GantryError as `call` does */
  call<C extends Contract>(contract: C, input: Input<C>): Promise<Output<C>>
  /** Hears of facts until the returned function is called. @param refused told when the key may not hear of them */
  listen(subject: string, hear: (subject: string, body: unknown) => void, refused: () => void): () => void
  /** Asks any subject, such as that of an extension's endpoint. @throws GantryError as `call` does */
  ask(subject: string, input: unknown, timeoutMs?: number): Promise<unknown>
  /** Hears whether the broker can be reached, whenever that changes. */
  watch(hear: (isOnline: boolean) => void): void
  /** Ends it for good: it does not come back. */
  close(): Promise<void>
}

/**
 * Connects a page over WebSocket; it comes back by itself whenever the broker does.
 * @throws GantryError UNAUTHENTICATED without a token that can be one, and what the NATS client throws
 */
export async function connectPage(about: {
  readonly token: string
  readonly servers: string
  /** For people, in lists of connections. */
  readonly name: string
}): Promise<PageConnection> {
  const { options } = connectionOptions(about.token)
  const connection = secretly(await wsconnect({ ...options, servers: about.servers, name: about.name }))
  return {
    call: (contract, input) => call(connection, contract, input),
    listen: (subject, hear, refused) => {
      const subscription = connection.subscribe(subject, {
        callback: (error, message) => {
          if (error !== null) refused()
          else if (isFact(message)) hear(message.subject, message.json())
        },
      })
      return () => subscription.unsubscribe()
    },
    ask: async (subject, input, timeoutMs) =>
      answerOf(await request(connection, subject, JSON.stringify(input), { timeoutMs }), subject),
    watch: (hear) => void watch(connection, hear),
    close: () => connection.close(),
  }
}

async function watch(connection: NatsConnection, hear: (isOnline: boolean) => void): Promise<void> {
  for await (const { type } of connection.status()) {
    if (type === 'disconnect') hear(false)
    if (type === 'reconnect') hear(true)
  }
  hear(false)
}
