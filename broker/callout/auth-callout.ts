import type { AuthorizationRequest } from '@nats-io/jwt'
import type { Msg, NatsConnection } from '@nats-io/transport-node'
import { addressMarks, originOfConnection } from '../messages/client-address.ts'
import type { Identity } from '../identity/identity.ts'
import { encodeJwt, readClaims } from '../identity/jwt.ts'
import type { Log } from '../common/log.ts'
import type { Opening, Openings } from './openings.ts'
import { Tarpit } from '../limits/tarpit.ts'
import { keyIdOf } from '../identity/token.ts'
import { type Capabilities, userJwt } from '../identity/user-jwt.ts'

/** Who a token stands for, and what its connections may do. */
export interface Principal {
  readonly keyId: string
  /** Whose key it is. */
  readonly owner: string
  readonly account: 'GANTRY' | 'AGENTS'
  readonly capabilities: Capabilities
  /** Subjects that this token may not publish to, whatever the capabilities of its key. */
  readonly withheld?: readonly string[]
  /** Seconds since 1970; the server closes the connection then. */
  readonly expires?: number
}

/** Judges a token. A reason is for the log alone; the client learns nothing but that it was refused. */
export type Authorise = (token: string) => Promise<Principal | Refusal>

export interface Refusal {
  /** For the log: all that is known. */
  readonly refused: string
  /** The same in one of a few ways, so that refusals can be counted. */
  readonly reason: string
  /** The key that is meant, when there is one. */
  readonly keyId?: string
  /** Set where the token is right. */
  readonly result?: 'THROTTLED'
}

/**
 * Whether one more connection of a key is let in that may be; the reason if it is not. The edge has one for each token, which
 * is always let in: `opening` is undefined then.
 */
export type Admit = (
  key: { readonly id: string; readonly owner: string },
  opening: Opening | undefined,
) => Promise<string | undefined>

/** A connection that was refused. */
export interface RefusedConnection extends Pick<Refusal, 'reason' | 'keyId'> {
  /** Address of the client. */
  readonly from: string | undefined
  /** What the client was told, where it is not that its token is wrong. */
  readonly result?: 'UNAUTHENTICATED' | 'THROTTLED'
}

const requestSubject = '$SYS.REQ.USER.AUTH'
/** All workers of all nodes share the requests. */
const queue = 'auth-callout'

/**
 * Answers nats-server's question who a connecting client is (auth callout). The connection is that of the callout user
 * in the AUTH account, the only one that may see these requests, so they need no check of their signature.
 */
export function startAuthCallout(
  connection: NatsConnection,
  {
    identity,
    authorise,
    admit,
    openings,
    onRefusal,
    log,
  }: {
    identity: Identity
    authorise: Authorise
    admit: Admit
    /** Where connections are noted from before their judgement until the server surely lists them. */
    openings: Pick<Openings, 'begin'>
    onRefusal: (refused: RefusedConnection) => void
    log: Log
  },
): { stop(): Promise<void> } {
  const marks = addressMarks(identity)
  const tarpit = new Tarpit()
  const issuer_account = identity.AUTH.account.getPublicKey()
  const answer = async (message: Msg): Promise<void> => {
    const { nats } = readClaims<AuthorizationRequest>(message.string())
    const { user_nkey, server_id, connect_opts, client_info } = nats as AuthorizationRequest
    const respond = (data: { jwt: string } | { error: string }) => {
      const type = 'authorization_response'
      const claims = { sub: user_nkey, aud: server_id.id, nats: { type, issuer_account, ...data } }
      message.respond(encodeJwt(claims, identity.AUTH.signing))
    }
    const { auth_token: token = '', name } = connect_opts
    const { host, id = 0 } = client_info
    const keyId = keyIdOf(token)
    const { address, isEdge } = originOfConnection(marks, { name, host, keyId })
    const opening = { server: server_id.id, id }
    const judged = async (): Promise<Principal | Refusal> => {
      const found = await authorise(token)
      if ('refused' in found) return found
      const reason = await admit({ id: found.keyId, owner: found.owner }, isEdge ? undefined : opening)
      return reason === undefined
        ? found
        : { refused: `${reason} (${found.keyId})`, reason, keyId: found.keyId, result: 'THROTTLED' }
    }
    const judgedWith = keyId === undefined ? undefined : openings.begin(keyId, opening)
    const verdict = await judged().catch((error: unknown) => {
      judgedWith?.(false)
      throw error
    })
    judgedWith?.(!('refused' in verdict))
    if ('refused' in verdict) {
      onRefusal({
        reason: verdict.reason,
        from: address,
        ...(verdict.keyId === undefined ? {} : { keyId: verdict.keyId }),
        ...(verdict.result === undefined ? {} : { result: verdict.result }),
      })
      const refuse = () => respond({ error: 'the token is not valid for this platform' })
      // The edge holds up by itself who guesses there.
      if (isEdge) refuse()
      else if (!tarpit.refuse({ address: address ?? '', keyId }, refuse)) return
      log.warn({ host, client: client_info.kind, reason: verdict.refused }, 'Refused a connection.')
      return
    }
    const jwt = userJwt(identity, verdict.account, {
      publicKey: user_nkey,
      name: verdict.keyId,
      capabilities: verdict.capabilities,
      ...(verdict.withheld === undefined ? {} : { withheld: verdict.withheld }),
      ...(verdict.expires === undefined ? {} : { expires: verdict.expires }),
    })
    respond({ jwt })
  }
  const subscription = connection.subscribe(requestSubject, {
    queue,
    callback: (error, message) => {
      if (error !== null) {
        log.error({ err: error }, 'The auth callout lost its subscription.')
        return
      }
      // No answer lets the client wait until the server's timeout, which is what a failure of ours must do: refuse.
      answer(message).catch((err: unknown) =>
        log.error({ err }, 'The auth callout failed; the client was refused.'),
      )
    },
  })
  return {
    stop: async () => {
      await subscription.drain()
      tarpit.close()
    },
  }
}
