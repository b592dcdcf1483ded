import { abortable } from '../../../broker/common/abortable.ts'
import { StoreError } from '../contract/driver.ts'
import { beyondJobs } from '../http/job-signal.ts'
import type { Asked } from '../http/requests.ts'

/** How a caller waits for a token, and whether what is asked is known to be a cluster. */
export type Wanting = Pick<Asked, 'retries' | 'isProbe' | 'signal'>

/** Until when a token is taken: by the clock of the cluster in milliseconds since 1970, and how long that is from now. */
export interface Validity {
  readonly untilMs: number
  readonly leftMs: number
}

/** The cluster's part. Rejects with a StoreError. */
export interface TokenService {
  /** A new token of the user. */
  get(wanting: Wanting): Promise<string>
  /** Makes a token longer, as far as the cluster lets it. */
  renew(token: string, wanting: Wanting): Promise<Validity>
  cancel(token: string): Promise<unknown>
}

interface Token {
  readonly text: string
  readonly untilMs: number
  /** By the clock of this process that nobody sets. */
  readonly renewAt: number
  readonly endsAt: number
}

/** Share of its time after which a token is renewed: requests take time, and a name node may be away for a while. */
const renewalShare = 0.75

/**
 * The token that a cluster gives to whoever it knows by Kerberos: with it requests need no ticket, and data nodes know who
 * asks. It is renewed before it ends, and got anew once it can no longer be made longer, or the cluster does not take it.
 */
export class DelegationTokens {
  readonly #service: TokenService
  #token: Promise<Token> | undefined

  constructor(service: TokenService) {
    this.#service = service
  }

  /** Rejects with a StoreError where there is none to be had, with the signal's reason when aborted. */
  async current({ signal, retries, isProbe }: Wanting): Promise<string> {
    // Others may wait for the same one: nobody's signal ends it.
    const wanting = { ...(retries !== undefined && { retries }), ...(isProbe !== undefined && { isProbe }) }
    const wait = (token: Promise<Token>) => (signal === undefined ? token : abortable(token, signal))
    const known = this.#token ?? this.#keep(() => this.#first(wanting))
    const token = await wait(known)
    if (performance.now() < token.renewAt) return token.text
    // Whoever comes first renews it, and all wait for that.
    const next = this.#token === known ? this.#keep(() => this.#next(token, wanting)) : this.#token
    return (await wait(next ?? this.#keep(() => this.#first(wanting)))).text
  }

  /** The cluster does not take a token: the next one is got anew. */
  async forget(text: string): Promise<void> {
    const known = this.#token
    const token = await known?.catch(() => undefined)
    if (token?.text === text && this.#token === known) this.#token = undefined
  }

  /** Tells the cluster that nobody uses the token any more; where it does not hear that, the token ends by itself. */
  async close(): Promise<void> {
    const token = await this.#token?.catch(() => undefined)
    this.#token = undefined
    if (token !== undefined) await this.#service.cancel(token.text).catch(() => undefined)
  }

  #keep(ask: () => Promise<Token>): Promise<Token> {
    const token = beyondJobs(ask)
    this.#token = token
    token.catch(() => {
      if (this.#token === token) this.#token = undefined
    })
    return token
  }

  /** The answer to whoever gets a token does not say when it ends: renewing does. */
  async #first(wanting: Wanting): Promise<Token> {
    return this.#renewed(await this.#service.get(wanting), wanting)
  }

  async #renewed(text: string, wanting: Wanting): Promise<Token> {
    const { untilMs, leftMs } = await this.#service.renew(text, wanting)
    const now = performance.now()
    return { text, untilMs, renewAt: now + renewalShare * leftMs, endsAt: now + leftMs }
  }

  async #next(token: Token, wanting: Wanting): Promise<Token> {
    try {
      const renewed = await this.#renewed(token.text, wanting)
      if (renewed.untilMs > token.untilMs) return renewed
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
    }
    return this.#first(wanting).catch((error: unknown) => {
      const now = performance.now()
      const leftMs = token.endsAt - now
      if (!(error instanceof StoreError) || leftMs <= 0) throw error
      // It can still be used, and what is wrong may be over by then.
      return { ...token, renewAt: now + renewalShare * leftMs }
    })
  }
}
