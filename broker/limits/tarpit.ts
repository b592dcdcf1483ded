import { Allowances, refillPerSecond } from './allowances.ts'
import { networkOf } from '../messages/client-address.ts'

/** Well below the patience of nats-server (`authTimeoutSeconds`), which would else refuse in our place. */
export const maxLateMs = 2_000
/** Refusals that are held back at once for one address, and for one key. */
export const maxLateOfOne = 20
/** The same for all: each is a timer and a message of some kB here, and a connection in the server. */
export const maxLateOfAll = 1_000

/** Who was refused: an address, and the key that was meant. */
export interface Guesser {
  readonly address: string
  readonly keyId: string | undefined
}

/**
 * Answers wrong tokens late, when many came from an address (a network, for IPv6) or for a key: one a second, each, is
 * what goes on. Only refusals pass here, so right tokens are neither counted nor held up, wherever they come from.
 */
export class Tarpit {
  readonly #allowances = new Allowances()
  /** Refusals that are held back, by what is counted. */
  readonly #held = new Map<string, number>()
  readonly #timers = new Set<NodeJS.Timeout>()

  /**
   * Answers a refusal, at once or late. Of too many that are held back a further one is not answered: nothing of it is
   * kept here, and the server ends its connection when its own patience does.
   * @returns whether it is answered
   */
  refuse({ address, keyId }: Guesser, answer: () => void): boolean {
    const names = [`address ${networkOf(address)}`, ...(keyId === undefined ? [] : [`key ${keyId}`])]
    for (const name of names) this.#allowances.charge(name)
    const left = Math.min(...names.map((name) => this.#allowances.left(name)))
    if (left >= 0) {
      answer()
      return true
    }
    if (this.#timers.size >= maxLateOfAll) return false
    if (names.some((name) => (this.#held.get(name) ?? 0) >= maxLateOfOne)) return false
    for (const name of names) this.#held.set(name, (this.#held.get(name) ?? 0) + 1)
    const timer = setTimeout(
      () => {
        this.#timers.delete(timer)
        for (const name of names) this.#release(name)
        answer()
      },
      Math.min(maxLateMs, (-left / refillPerSecond) * 1_000),
    )
    this.#timers.add(timer)
    return true
  }

  #release(name: string): void {
    const others = (this.#held.get(name) ?? 1) - 1
    if (others > 0) this.#held.set(name, others)
    else this.#held.delete(name)
  }

  /** What is held back is not answered any more. */
  close(): void {
    for (const timer of this.#timers) clearTimeout(timer)
    this.#timers.clear()
  }
}
