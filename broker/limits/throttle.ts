import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { Allowances, burst, maxRemembered } from './allowances.ts'
import { networkOf } from '../messages/client-address.ts'

/** A token that was refused is so for ever, but for a node of a cluster that had not heard of it yet. */
const wrongForMs = 10_000

/**
 * Slows down who guesses tokens, by address (a network, for IPv6) and by key: refusals use up an allowance, and without
 * one nobody is asked whether a token is right. It locks no owner out: a token that was right once is always asked for,
 * and so is any from an address that has had no refusal lately, and any that is sealed (`isSealed`). A program that goes on sending one wrong token, or one
 * that was right, guesses nothing, and uses up nothing.
 */
export class Throttle {
  readonly #addresses = new Allowances()
  readonly #keys = new Allowances()
  readonly #right = new LRUCache<string, true>({ max: maxRemembered })
  /** Until when a token is known to be wrong. */
  readonly #wrong = new LRUCache<string, number>({ max: maxRemembered })

  /** What is to be done with a token: to `ask` whether it is right, to `refuse` it as before, or to let its sender `wait`. */
  judge(address: string, keyId: string, token: string): 'ask' | 'refuse' | 'wait' {
    const digest = digestOf(token)
    if (this.#isWrong(digest)) return 'refuse'
    const byAddress = this.#addresses.left(networkOf(address))
    if (byAddress >= burst || this.#right.get(digest) !== undefined) return 'ask'
    return byAddress >= 1 && this.#keys.left(keyId) >= 1 ? 'ask' : 'wait'
  }

  /** Whether a token, of any kind, was refused a moment ago. */
  knowsAsWrong(token: string): boolean {
    return this.#isWrong(digestOf(token))
  }

  #isWrong(digest: string): boolean {
    return (this.#wrong.get(digest) ?? 0) > performance.now()
  }

  wasRight(token: string): void {
    this.#right.set(digestOf(token), true)
  }

  /** A token that is of no key was refused: that is remembered, and not counted. */
  wasWrong(token: string): void {
    this.#wrong.set(digestOf(token), performance.now() + wrongForMs)
  }

  wasRefused(address: string, keyId: string, token: string): void {
    const digest = digestOf(token)
    this.#wrong.set(digest, performance.now() + wrongForMs)
    // Revoked or expired since, and no guess.
    if (this.#right.get(digest) !== undefined) return
    this.#addresses.charge(networkOf(address))
    this.#keys.charge(keyId)
  }
}

/** Tokens are kept nowhere. */
const digestOf = (token: string): string => hash('sha256', token, 'base64url')
