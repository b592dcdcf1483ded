import type { RefusedConnection } from '../../broker/callout/auth-callout.ts'
import { brokerError, invalidToken } from '../../broker/rpc/client.ts'
import { plainAddress } from '../../broker/messages/client-address.ts'
import { Throttle } from '../../broker/limits/throttle.ts'
import { GantryError } from '../../subjects/kit/errors.ts'

/** A token of a key that somebody sent. */
export interface Presented {
  readonly token: string
  readonly keyId: string
  /** Where the request comes from; undefined for our own, which are neither throttled nor counted. */
  readonly address: string | undefined
}

/** Hears of everybody whom the edge turns away by itself, so that the broker knows nothing of it. */
export type OnRefusal = (refused: RefusedConnection) => void

// Made once: with its stack an error costs a tenth of what a refused request does.
const isNoToken = new GantryError('UNAUTHENTICATED', 'the token is not a valid API token')
const isWrongToken = invalidToken()
const isTooMany = new GantryError(
  'THROTTLED',
  'too many rejected tokens from this address; try again in a minute',
)

/** Why a token is refused that was refused a moment ago. */
const again = 'refused just before'
/** Three parts of base64url (RFC 7519). */
const jwtForm = /^[\w-]+\.[\w-]+\.[\w-]+$/

/** Stands before the question whether a token is right: who guesses does not get so far. */
export class Guard {
  readonly #throttle = new Throttle()
  readonly #onRefusal: OnRefusal
  readonly #isSealed: (token: string) => boolean

  /** @param options `isSealed`: whether a token was made here, so that it is no guess; none is known to be unless it is given */
  constructor({
    onRefusal = () => undefined,
    isSealed = () => false,
  }: { onRefusal?: OnRefusal; isSealed?: (token: string) => boolean } = {}) {
    this.#onRefusal = onRefusal
    this.#isSealed = isSealed
  }

  /** @throws GantryError UNAUTHENTICATED: what has not the form of a token is not worth a connection */
  refuseGarbage(address: string | undefined): never {
    this.#note(address, { reason: 'malformed token' })
    throw isNoToken
  }

  /** @throws GantryError UNAUTHENTICATED for a token that was refused just now, THROTTLED after too many refusals */
  admit({ address, keyId, token }: Presented): void {
    if (address === undefined) return
    switch (this.#throttle.judge(address, keyId, token)) {
      case 'ask':
        return
      case 'refuse':
        this.#note(address, { reason: again, keyId })
        throw isWrongToken
      case 'wait':
        if (this.#isSealed(token)) return
        this.#note(address, { reason: 'too many refusals', keyId, result: 'THROTTLED' })
        throw isTooMany
    }
  }

  /** Has a token judged, and takes note of the answer. */
  async judged<T>({ address, keyId, token }: Presented, judge: () => Promise<T>): Promise<T> {
    try {
      const answer = await judge()
      this.#throttle.wasRight(token)
      return answer
    } catch (error) {
      if (address !== undefined && isRefusal(error)) this.#throttle.wasRefused(address, keyId, token)
      throw error
    }
  }

  /**
   * Has a JSON Web Token judged. Right ones are many and new, and one is judged for little, so nobody has to wait for what
   * others guess.
   * @throws GantryError UNAUTHENTICATED when it has not the form of one, or was refused just now
   */
  async judgedJwt<T>(jwt: string, address: string, judge: () => Promise<T>): Promise<T> {
    if (!jwtForm.test(jwt)) this.refuseGarbage(address)
    if (this.#throttle.knowsAsWrong(jwt)) {
      this.#note(address, { reason: again })
      throw isWrongToken
    }
    try {
      return await judge()
    } catch (error) {
      if (isRefusal(error)) {
        this.#throttle.wasWrong(jwt)
        this.#note(address, { reason: 'wrong JSON Web Token' })
      }
      throw error
    }
  }

  #note(address: string | undefined, refused: Omit<RefusedConnection, 'from'>): void {
    if (address !== undefined) this.#onRefusal({ ...refused, from: plainAddress(address) })
  }
}

const isRefusal = (error: unknown): boolean => brokerError(error, 'the broker').code === 'UNAUTHENTICATED'
