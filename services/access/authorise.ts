import type { Authorise, Refusal } from '../../broker/callout/auth-callout.ts'
import type { Log } from '../../broker/common/log.ts'
import { parseToken, secretMatches } from '../../broker/identity/token.ts'
import { agentCapabilities } from './keys/agent.ts'
import { type KeyCollection, type StoredKey, whyInvalid } from './keys/keys.ts'
import { intersection } from './permissions.ts'
import { withheldFromReplaced } from './keys/withheld.ts'

/** The last use is kept to the minute, so that a busy key does not write at each connect. */
const lastUsedPrecisionMs = 60_000

/**
 * Judges the token of a connecting client: ours, of this instance, its secret right under the salt, its key neither
 * revoked nor expired. The record is read again each time, so a revocation holds from its reply on.
 */
export function authoriser(keys: KeyCollection, { log, ...platform }: Judging & { log: Log }): Authorise {
  return async (token) => {
    const found = await judge(keys, platform, token)
    if ('refused' in found) return found
    const { key, until, isReplaced } = found
    noteUse(keys, key).catch((err: unknown) =>
      log.warn({ err, key: key.id }, 'The last use of a key could not be recorded.'),
    )
    return {
      keyId: key.id,
      owner: key.owner,
      account: key.kind === 'agent' ? 'AGENTS' : 'GANTRY',
      capabilities: capabilitiesOf(key),
      ...(isReplaced ? { withheld: withheldFromReplaced } : {}),
      ...(until === undefined ? {} : { expires: Math.ceil(until / 1000) }),
    }
  }
}

/** An agent may ask under its own key id alone, whatever else its key was narrowed to. */
const capabilitiesOf = ({ id, kind, capabilities }: StoredKey) =>
  kind === 'agent' ? intersection(agentCapabilities(id), capabilities) : capabilities

/** What a token is judged by, beside its key. */
export interface Judging {
  readonly instance: string
  readonly salt: string
}

/** The key of a token that is taken. */
export interface Judged {
  readonly key: StoredKey
  /** When what it opens is to end, in milliseconds since 1970; undefined never. */
  readonly until: number | undefined
  /** Whether it is the one before the last rotation. */
  readonly isReplaced: boolean
}

/** The key of a token, or why it opens nothing. */
export async function judge(
  keys: KeyCollection,
  { instance, salt }: Judging,
  token: string,
): Promise<Judged | Refused> {
  const parsed = parseToken(token)
  if (parsed === undefined) return refuse(token === '' ? 'no token' : 'malformed token')
  if (parsed.location.instance !== instance)
    return refuse('a token of another instance', `a token of instance ${parsed.location.instance}`)
  const key = await keys.get(parsed.keyId)
  if (key === undefined) return refuse('unknown key', `unknown key ${parsed.keyId}`)
  const { id: keyId } = key
  const known = judgeSecret(key, salt, parsed.secret)
  if (known === undefined)
    return {
      ...refuse('wrong secret', `wrong secret for key ${keyId}, or storage.salt has changed`),
      keyId,
    }
  const invalid = whyInvalid(key)
  if (invalid !== undefined)
    return { ...refuse(key.revoked === undefined ? 'expired key' : 'revoked key', invalid), keyId }
  return { key, ...known }
}

const refuse = (reason: Reason, refused: string = reason): Refused => ({ refused, reason })

/** Why a token opens nothing, and what its owner can do. */
export const remedies = {
  'no token': 'send it as Authorization: Bearer …, or as the token of a NATS connection',
  'malformed token': 'copy the whole token, starting with gantry., without line breaks',
  'a token of another instance': 'use a key of this platform, or the address of the other platform',
  'unknown key': 'create another key',
  'wrong secret': 'use the token of the last rotation, or create another key if storage.salt has changed',
  'expired key': 'create another key',
  'revoked key': 'create another key',
} as const
type Reason = keyof typeof remedies
type Refused = Refusal & { readonly reason: Reason }

/**
 * What a secret opens ends with its key, or with the time for which the one before the last rotation is taken. undefined
 * when the secret is not that of the key.
 */
function judgeSecret(
  { secretHash, previous, expires }: StoredKey,
  salt: string,
  secret: string,
): Omit<Judged, 'key'> | undefined {
  const end = expires === undefined ? undefined : Date.parse(expires)
  if (secretMatches(salt, secret, secretHash)) return { until: end, isReplaced: false }
  if (previous === undefined || !secretMatches(salt, secret, previous.secretHash)) return undefined
  const until = Date.parse(previous.until)
  return until <= Date.now() ? undefined : { until: Math.min(until, end ?? until), isReplaced: true }
}

async function noteUse(keys: KeyCollection, key: StoredKey): Promise<void> {
  const now = Date.now()
  if (key.lastUsed !== undefined && now - Date.parse(key.lastUsed) < lastUsedPrecisionMs) return
  await keys.update(key.id, (current) => ({ ...current, lastUsed: new Date(now).toISOString() }))
}
