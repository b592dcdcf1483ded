import { jwtVerify, SignJWT } from 'jose'
import type { Identity } from '../../broker/identity/identity.ts'
import { createSealer } from '../../broker/identity/seal.ts'
import { GantryError } from '../../subjects/kit/errors.ts'
import { product } from '../../subjects/kit/names.ts'
import type { Session } from './roles/people.ts'

/** What the token is for; the same key would sign no other. */
const audience = `${product}-migrator`
const algorithm = 'HS256'
/** The claim with the session's API token, sealed. */
const sessionClaim = 'session'

/**
 * The JSON Web Tokens of the migrator. Each carries the API token of its session, sealed with a key of the instance, so
 * that nothing about it is stored and nothing of it is believed: whoever opens it asks the broker with what is inside.
 */
export class WebTokens {
  readonly #key: Uint8Array
  readonly #sealer: ReturnType<typeof createSealer>
  readonly #issuer: string

  constructor(identity: Pick<Identity, 'derive' | 'instance'>) {
    this.#key = identity.derive('migrator web tokens')
    this.#sealer = createSealer(identity)
    this.#issuer = identity.instance
  }

  /** A token that ends with its session. */
  async issue({ token, user, key }: Session): Promise<{ token: string; expires: string }> {
    const expires = key.expires
    if (expires === undefined) throw new Error('a session without an expiry time')
    const jwt = await new SignJWT({ [sessionClaim]: this.#sealer.seal(token) })
      .setProtectedHeader({ alg: algorithm, typ: 'JWT' })
      .setIssuer(this.#issuer)
      .setAudience(audience)
      .setSubject(user.subject)
      .setIssuedAt()
      .setExpirationTime(new Date(expires))
      .sign(this.#key)
    return { token: jwt, expires }
  }

  /** The API token in a token of ours that has not expired. @throws GantryError UNAUTHENTICATED */
  async open(jwt: string): Promise<string> {
    try {
      const { payload } = await jwtVerify(jwt, this.#key, {
        algorithms: [algorithm],
        issuer: this.#issuer,
        audience,
        requiredClaims: ['exp', sessionClaim],
      })
      return this.#sealer.open(String(payload[sessionClaim]))
    } catch (cause) {
      throw new GantryError('UNAUTHENTICATED', 'the token is not valid for this platform', { cause })
    }
  }
}
