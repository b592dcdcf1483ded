import { LRUCache } from 'lru-cache'
import { Allowances, maxRemembered } from '../../broker/limits/allowances.ts'
import type { Log } from '../../broker/common/log.ts'
import type { Violation } from '../../broker/callout/violations.ts'
import { roots } from '../../subjects/kit/names.ts'
import type { Directory } from './directory.ts'
import { type LogBook, maxApart } from './log-book.ts'

/** An answer holds so long, also that there was none: whoever tries in a loop causes no more questions than that. */
const rememberMs = 5_000
/** Prefixes of a key that are asked about: an author means a few, and whoever makes them up could go on for ever. */
const questionsOfKey = { burst: 10, refillPerSecond: 1 }
/** Questions under way at a time, whoever they are about: a few of those that the service of keys works on. */
const maxAsking = 16
/** While questions fail, one of them is logged in so long. */
const failureLogMs = 60_000

/** What is known of a key and a prefix: whether it is its owner's, or what waits for the answer, counted by message. */
interface Known {
  readonly untilMs: number
  readonly isOwn?: boolean
  readonly waiting?: Map<string, number>
}

export interface ViolationsOptions {
  readonly directory: Pick<Directory, 'instances'>
  readonly note: LogBook['note']
  /** Whether the key is of the owner of the prefix. It costs questions to others. */
  readonly ownsPrefix: (keyId: string, prefix: string) => Promise<boolean>
  readonly log: Log
}

/** The prefix that a subject of extensions is of. */
function prefixOf(subject: string): string | undefined {
  const root = `${roots.extensions}.`
  return subject.startsWith(root) ? subject.slice(root.length).split('.')[0] : undefined
}

/**
 * Notes what the broker did not let an extension do, where its author looks: with every extension that the key has an
 * instance of; where it has none, with the one whose subjects it meant, if that is its owner's. Violations come as fast
 * as a client can write; what they cost others is bounded.
 */
export class Violations {
  readonly #options: ViolationsOptions
  readonly #known = new LRUCache<string, Known>({ max: maxRemembered })
  readonly #questions = new Allowances(questionsOfKey)
  #asking = 0
  #failureLoggedMs = -Infinity

  constructor(options: ViolationsOptions) {
    this.#options = options
  }

  note({ keyId, action, subject }: Violation): void {
    const rule = `${action === 'publish' ? 'pub' : 'sub'}.allow`
    const what = subject === undefined ? 'a subject with a token in it' : subject
    const message = `permission denied: key ${keyId} may not ${action === 'publish' ? 'publish' : 'subscribe'} to ${what}, because no rule in its ${rule} covers it`
    const own = this.#options.directory.instances().filter(({ key }) => key === keyId)
    const prefixes = new Set(own.map(({ prefix }) => prefix))
    for (const prefix of prefixes) this.#write(prefix, message)
    const meant = prefixes.size === 0 && subject !== undefined ? prefixOf(subject) : undefined
    if (meant !== undefined) this.#noteIfOwn(keyId, meant, message)
  }

  #noteIfOwn(keyId: string, prefix: string, message: string): void {
    const name = `${keyId} ${prefix}`
    const known = this.#known.get(name)
    if (known !== undefined && known.untilMs > performance.now()) {
      if (known.isOwn === true) this.#write(prefix, message)
      const { waiting } = known
      if (waiting !== undefined && (waiting.has(message) || waiting.size < maxApart))
        waiting.set(message, (waiting.get(message) ?? 0) + 1)
      return
    }
    if (this.#asking === maxAsking || this.#questions.left(keyId) < 1) return
    this.#questions.charge(keyId)
    const waiting = new Map([[message, 1]])
    this.#known.set(name, { untilMs: Infinity, waiting })
    void this.#ask(keyId, prefix).then((isOwn) => {
      this.#known.set(name, { untilMs: performance.now() + rememberMs, isOwn })
      if (isOwn) for (const [text, count] of waiting) this.#write(prefix, text, count)
    })
  }

  /** Never rejects: without an answer it is nobody's. */
  async #ask(keyId: string, prefix: string): Promise<boolean> {
    this.#asking += 1
    try {
      return await this.#options.ownsPrefix(keyId, prefix)
    } catch (err) {
      if (performance.now() >= this.#failureLoggedMs + failureLogMs) {
        this.#failureLoggedMs = performance.now()
        this.#options.log.warn(
          { err },
          'A permission violation of an extension could not be written to its log.',
        )
      }
      return false
    } finally {
      this.#asking -= 1
    }
  }

  #write(prefix: string, message: string, count = 1): void {
    this.#options.note(prefix, { level: 'error', message, count })
  }
}
