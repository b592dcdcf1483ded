import { pauseAfter } from '../../../broker/common/retry.ts'
import { brokerError } from '../../../broker/rpc/client.ts'
import { connectWithToken, type NatsConnection } from '../../../broker/rpc/connection.ts'
import { wasNotJudged } from '../../../broker/rpc/judged.ts'
import { keyIdOf } from '../../../broker/identity/token.ts'
import { GantryError, isGantryError } from '../../../subjects/kit/errors.ts'
import { Agent, type AgentOptions } from './agent.ts'

/** A broker far away answers within this time, or is tried again. */
const connectTimeoutMs = 10_000

export interface KeptAgentOptions extends Omit<AgentOptions, 'connection' | 'keyId'> {
  /** Address of the platform's broker. */
  readonly url: string
  readonly token: string
  /** What it does beside moving files, on the same connection, until the signal aborts. Never rejects. */
  readonly beside?:
    ((connection: NatsConnection, keyId: string, signal: AbortSignal) => Promise<void>) | undefined
}

/**
 * Works as an agent of the platform until the signal aborts, over restarts of the platform and of the network.
 * @throws GantryError UNAUTHENTICATED when the token is refused or its key was revoked, DENIED when it is not that of an
 *   agent, NOT_ALLOWED_IN_STATE when the platform has told the agent to end
 */
export async function superviseAgent(
  { url, token, beside, ...options }: KeptAgentOptions,
  signal: AbortSignal,
): Promise<void> {
  const keyId = keyIdOf(token) ?? ''
  const { log } = options
  for (let attempt = 1; !signal.aborted; attempt++) {
    const connection = await connect(url, token).catch((error: unknown) => {
      if (isGantryError(error, 'UNAUTHENTICATED')) throw error
      log.warn({ err: error }, `No answer from ${url}; retrying.`)
      return undefined
    })
    if (connection === undefined) {
      await pauseAfter(attempt, signal)
      continue
    }
    attempt = 0
    log.info({ url }, 'The agent is connected.')
    const ending = new AbortController()
    const working = beside?.(connection, keyId, AbortSignal.any([signal, ending.signal]))
    try {
      const reason = await new Agent({ ...options, connection, keyId }).run(signal)
      if (reason !== undefined)
        throw new GantryError('NOT_ALLOWED_IN_STATE', `the platform has disconnected this agent: ${reason}`)
    } catch (error) {
      throw isGantryError(error, 'DENIED') ? notAnAgent(error) : error
    } finally {
      ending.abort()
      await working
      await connection.close()
    }
  }
}

async function connect(url: string, token: string): Promise<NatsConnection> {
  const begun = performance.now()
  try {
    return await connectWithToken(url, token, {
      name: 'agent',
      reconnect: 'always',
      timeoutMs: connectTimeoutMs,
    })
  } catch (error) {
    const known = brokerError(error, url)
    if (known.code !== 'UNAUTHENTICATED' || wasNotJudged(error, performance.now() - begun)) {
      throw new GantryError('UNAVAILABLE', `no answer from ${url}`, { cause: error })
    }
    throw new GantryError(
      'UNAUTHENTICATED',
      `${url} rejects the token of this agent: its key was revoked, has expired, or belongs to another platform`,
      { cause: error },
    )
  }
}

const notAnAgent = (cause: unknown) =>
  new GantryError(
    'DENIED',
    'the token does not belong to a transfer agent; create one with "gantry agents register"',
    { cause },
  )
