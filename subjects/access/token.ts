/**
 * API tokens: `gantry.<location>.<key id>.<secret>`, opaque to their holder, the same string for HTTP, NATS and
 * WebSocket. The location (base64url of JSON) says which instance made it and where that is to be found.
 */
export interface TokenLocation {
  /** Id of the instance; another instance refuses the token. */
  readonly instance: string
  /** Addresses at the time of issue: NATS, and the platform's REST. */
  readonly nats: string
  readonly http: string
}

export const tokenPrefix = 'gantry'
/** A token is about 200 characters; more is none of ours and not worth decoding. */
const maxTokenLength = 1_000

/** Whether a text has the form of a key id; the platform's own users have other names. */
export const isKeyId = (text: string): boolean => /^k[0-9a-z]+$/.test(text)

/** The parts of a token, or undefined when it is none. */
export function parseToken(
  token: string,
): { location: TokenLocation; keyId: string; secret: string } | undefined {
  if (token.length > maxTokenLength) return undefined
  const [first, place, keyId, secret, ...rest] = token.split('.')
  if (first !== tokenPrefix || !place || !keyId || !secret || rest.length > 0) return undefined
  if (!isKeyId(keyId)) return undefined
  try {
    const parsed: unknown = JSON.parse(textOfBase64Url(place))
    const { i, n, h } = parsed as Record<string, unknown>
    if (typeof i !== 'string' || typeof n !== 'string' || typeof h !== 'string') return undefined
    return { location: { instance: i, nats: n, http: h }, keyId, secret }
  } catch {
    return undefined
  }
}

function textOfBase64Url(text: string): string {
  const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'))
  return new TextDecoder().decode(Uint8Array.from(binary, (char) => char.charCodeAt(0)))
}

/** The key id in a token, for the inbox of a connection; says nothing about whether the token is right. */
export const keyIdOf = (token: string): string | undefined => parseToken(token)?.keyId
