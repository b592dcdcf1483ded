import { ask, brokerError, call, isFact } from '../../broker/rpc/client.ts'
import { connectWithToken, type NatsConnection } from '../../broker/rpc/connection.ts'
import { parseToken } from '../../subjects/access/token.ts'
import type { Addressed, Contract, Input, Output } from '../../subjects/kit/contract.ts'
import { GantryError } from '../../subjects/kit/errors.ts'
import { product } from '../../subjects/kit/names.ts'
import { isUnreachable } from '../exit-codes.ts'
import type { FoundToken } from './token.ts'

/** A connection to the platform with somebody's token. */
export interface Session {
  /** The key of the token. */
  readonly keyId: string
  /** @throws GantryError */
  call<C extends Contract>(contract: C, input: Input<C>): Promise<Output<C>>
  /** The same for those who have of the contract no more than where it is answered. @throws GantryError */
  ask(contract: Addressed, input: unknown): Promise<unknown>
  /** Calls an endpoint of an extension. @throws GantryError */
  callEndpoint(contract: Contract, input: unknown): Promise<unknown>
  /** Calls back with the payload of each event on a subject, as long as the token allows it. */
  listen(subject: string, callback: (payload: unknown) => void): void
  readonly isClosed: () => boolean
  close(): Promise<void>
}

/** A broker on this host answers in milliseconds; one far away within this time, or it is not there. */
const connectTimeoutMs = 5_000

export interface SessionOptions {
  /** Address of the broker; default: that of the token. */
  readonly server?: string | undefined
  /** What starts the platform whose broker is at an address. */
  readonly startOf?: ((broker: string) => string) | undefined
  /** Where the platform of the configuration folder listens, if that is not at this address. */
  readonly elsewhere?: ((broker: string) => Promise<string | undefined>) | undefined
}

/**
 * Connects to the platform that made the token, or to `server`.
 * @throws GantryError UNAVAILABLE when nobody is there, UNAUTHENTICATED when the token is refused
 */
export async function openSession(
  { token, source, location }: FoundToken,
  { server, startOf, elsewhere }: SessionOptions = {},
): Promise<Session> {
  const url = server ?? location.nats
  const connection = await connect(url, token, { source, startOf, elsewhere })
  const answered = async <T>(answer: Promise<T>): Promise<T> => {
    try {
      return await answer
    } catch (error) {
      throw connection.isClosed() && isUnreachable(error) ? await closingReason(connection, error) : error
    }
  }
  return {
    keyId: parseToken(token)!.keyId,
    call: (contract, input) => answered(call(connection, contract, input)),
    ask: (contract, input) => answered(ask(connection, contract, input)),
    callEndpoint: async (contract, input) => {
      const { callEndpoint } = await import('../../broker/rpc/endpoint-call.ts')
      return answered(callEndpoint(connection, contract, input))
    },
    listen: (subject, callback) => {
      connection.subscribe(subject, {
        callback: (error, message) =>
          error === null && isFact(message) ? callback(message.json()) : undefined,
      })
    },
    isClosed: () => connection.isClosed(),
    close: () => connection.close(),
  }
}

async function connect(
  url: string,
  token: string,
  {
    source,
    startOf = () => `${product} up`,
    elsewhere,
  }: Pick<SessionOptions, 'startOf' | 'elsewhere'> & { readonly source: string },
): Promise<NatsConnection> {
  try {
    return await connectWithToken(url, token, { name: 'cli', reconnect: false, timeoutMs: connectTimeoutMs })
  } catch (error) {
    const known = brokerError(error, url)
    if (known.code === 'UNAUTHENTICATED') {
      throw new GantryError(
        'UNAUTHENTICATED',
        `${url} rejected the token from ${source}: it is revoked or expired, or belongs to another platform`,
        { cause: error },
      )
    }
    // It may have been started with other ports than when the token was made.
    const running = await elsewhere?.(url)
    const fix =
      running === undefined || running === url
        ? `start the platform with "${startOf(url)}", or set another address with --server`
        : `the platform of this configuration folder listens at ${running} now, so add --server ${running}`
    throw new GantryError('UNAVAILABLE', `${url} does not respond: ${fix}`, { cause: error })
  }
}

/** A key that is revoked in the middle of a call loses its connection, and with it the answer. */
async function closingReason(connection: NatsConnection, error: unknown): Promise<unknown> {
  const reason = await connection.closed()
  return reason instanceof Error ? brokerError(reason, connection.getServer()) : error
}
