import type { Log } from '../../../broker/common/log.ts'
import { createSealedBox } from '../../../broker/common/sealed-box.ts'
import { every, type Task } from '../../../broker/tasks/tasks.ts'
import type { Caller, Handlers, Input } from '../../../subjects/kit/contract.ts'
import { GantryError } from '../../../subjects/kit/errors.ts'
import { product } from '../../../subjects/kit/names.ts'
import { maxAgentsOfKey, tooManyOfKey } from '../../../subjects/migrations/agent-work.ts'
import {
  catalogProtocol,
  catalogWaitMs,
  type catalogWork,
  maxMessageBytes,
  pieceLength,
  questionsAtOnce,
} from '../../../subjects/metadata/catalog-work.ts'
import { AllowedView, type StoreBounds } from '../../drivers/contract/bounds.ts'
import { StoreError } from '../../drivers/contract/store-error.ts'
import type { AgentQuestion, SentQuestion } from '../catalogs/remote/asking.ts'

/** Who was not heard of for so long after an answer is gone: an agent asks again at once. */
export const goneAfterMs = 2 * catalogWaitMs
/**
 * Bytes of answers that are arriving from agents of one key: four of the longest. A catalog is asked by a few threads at once,
 * and hardly any answer is so long; without it, agents that never end their answers would take the platform's memory.
 */
export const maxArrivingBytes = 4 * maxMessageBytes
/** Bytes of a question: sealed, and then in base64, which is a third longer, it still has to be one that may be sent. */
const maxQuestionBytes = (maxMessageBytes / 4) * 3 - 1024
/** Names whose agents of another protocol are remembered, to say why nobody serves them. */
const maxProblems = 1_000

/** What is asked of an agent, until it is answered. */
interface Asked {
  readonly id: string
  /** With secrets in it: it leaves this process sealed alone. */
  readonly bytes: Uint8Array
  /** Once somebody has it. */
  sealed: string[]
  /** Who has it. */
  holder?: Life
  readonly answer: string[]
  /** Of what came of it so far. */
  answerBytes: number
  /** Ends it: it waits no more, and nobody has it. */
  readonly resolve: (text: string) => void
  readonly reject: (error: Error) => void
}

/** An agent that is there. */
interface Life {
  readonly name: string
  readonly keyId: string
  /** Questions that it has, by id. */
  readonly hands: Map<string, Asked>
  publicKey: string
  answeredMs: number
  /** Ends the wait of its question what to do; undefined when none is open. @param mayTake what there is */
  wake?: ((mayTake: boolean) => void) | undefined
}

interface CatalogAgentsOptions {
  /** The name that a key was registered under. */
  readonly nameOf: (keyId: string) => Promise<string>
  /** What of these the platform allows catalogs is passed on with each question. */
  readonly bounds: StoreBounds
  readonly log: Log
}

/**
 * Agents that serve catalogs which only their hosts reach. They are known by the names under which administrators registered
 * their keys, not by what they call themselves: a catalog's secrets go to no other. Questions wait for whichever agent of the
 * name takes them first, and are given to one alone.
 */
export class CatalogAgents {
  readonly #options: CatalogAgentsOptions
  readonly #allowed: AllowedView
  readonly #box = createSealedBox()
  /** By instance. */
  readonly #lives = new Map<string, Life>()
  /** Questions that nobody has taken, by name of the agent. */
  readonly #waiting = new Map<string, Set<Asked>>()
  /** Why agents of a name are asked nothing. */
  readonly #problems = new Map<string, string>()
  #task: Task | undefined

  constructor(options: CatalogAgentsOptions) {
    this.#options = options
    this.#allowed = new AllowedView(options.bounds)
  }

  start(): void {
    this.#task = every('metadata.agents', () => this.#dropSilent())
  }

  stop(): void {
    this.#task?.stop()
    for (const { wake } of this.#lives.values()) wake?.(false)
  }

  /**
   * Asks an agent about a catalog. Returns the text that it answered, which may be anything, and so is not read in this process.
   * Throws StoreError, and the signal's reason.
   */
  readonly ask = async ({ agent, question }: AgentQuestion, signal: AbortSignal): Promise<string> => {
    const { hosts, hostCredentials } = this.#allowed.allowed
    const allowed = { ...(hosts && { hosts }), ...(hostCredentials && { hostCredentials }) }
    const sent = { ...question, allowed } as SentQuestion
    return this.#answerTo(agent, Buffer.from(JSON.stringify(sent)), signal)
  }

  readonly handlers: Handlers<typeof catalogWork> = {
    'catalog-next': async (report, { caller }) => {
      const keyId = keyOf(caller)
      const name = await this.#options.nameOf(keyId)
      const problem = problemOf(name, report)
      if (problem !== undefined && this.#problems.size < maxProblems) this.#problems.set(name, problem)
      const life = problem ?? this.#admit(name, keyId, report)
      const { publicKey } = this.#box
      if (typeof life === 'string') return { questions: [], publicKey, problem: life }
      return { questions: await this.#next(life), publicKey }
    },
    'catalog-piece': ({ instance, id, index }, { caller }) => {
      const piece = this.#inHands(caller, instance, id).asked.sealed[index]
      if (piece === undefined) throw notAsked()
      return { piece }
    },
    'catalog-answer': ({ instance, id, index, isLast, piece }, { caller }) => {
      const { life, asked } = this.#inHands(caller, instance, id)
      // It comes once more where the agent has not heard that it came.
      if (index < asked.answer.length) return {}
      if (index > asked.answer.length) throw notAsked()
      this.#requireRoom(life, asked, Buffer.byteLength(piece))
      asked.answer.push(piece)
      if (isLast) asked.resolve(asked.answer.join(''))
      return {}
    },
  }

  #answerTo(agent: string, bytes: Uint8Array, signal: AbortSignal): Promise<string> {
    signal.throwIfAborted()
    if (!this.#isThere(agent)) throw this.#nobody(agent)
    if (bytes.length > maxQuestionBytes)
      throw tooLarge(`what is written to the catalog behind agent ${agent} has`, maxQuestionBytes)
    const { promise, resolve, reject } = Promise.withResolvers<string>()
    const waiting = this.#waiting.get(agent) ?? new Set()
    const leave = () => {
      waiting.delete(asked)
      asked.holder?.hands.delete(asked.id)
      signal.removeEventListener('abort', abort)
    }
    const asked: Asked = {
      id: crypto.randomUUID(),
      bytes,
      sealed: [],
      answer: [],
      answerBytes: 0,
      resolve: (text) => {
        leave()
        resolve(text)
      },
      reject: (error) => {
        leave()
        reject(error)
      },
    }
    const abort = () => asked.reject(signal.reason as Error)
    signal.addEventListener('abort', abort)
    this.#waiting.set(agent, waiting.add(asked))
    this.#wakeOne(agent)
    return promise
  }

  #isThere(agent: string): boolean {
    return this.#lives.values().some(({ name }) => name === agent)
  }

  #nobody(agent: string): StoreError {
    const why =
      this.#problems.get(agent) ??
      `agent ${agent} does not serve catalogs now: start it on its host with "${product} agent --catalogs", and update it first if it does not know that option`
    return new StoreError('unreachable', why)
  }

  #admit(name: string, keyId: string, report: Input<(typeof catalogWork)['catalog-next']>): Life | string {
    const { instance, publicKey, holding } = report
    this.#problems.delete(name)
    const known = this.#lives.get(instance)
    if (known !== undefined && known.keyId !== keyId) throw notAsked()
    if (known === undefined && this.#ofKey(keyId).length >= maxAgentsOfKey) return tooManyOfKey
    const life: Life = known ?? { name, keyId, hands: new Map(), publicKey, answeredMs: Date.now() }
    if (known === undefined) {
      this.#lives.set(instance, life)
      this.#options.log.info(
        { agent: name, release: report.version },
        'An agent that serves catalogs connected.',
      )
    }
    life.publicKey = publicKey
    // It asks one at a time: what it got before and does not hold has not arrived there.
    const held = new Set(holding)
    for (const [id, asked] of life.hands) if (!held.has(id)) this.#lose(life, asked)
    return life
  }

  /** What an agent is to answer, once there is something; nothing after a while. */
  async #next(life: Life): Promise<{ id: string; pieces: number; first: string }[]> {
    life.answeredMs = Date.now()
    // It asks one at a time: nobody awaits what comes of the one before.
    life.wake?.(false)
    const questions = this.#take(life)
    if (questions.length > 0) return questions
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const end = (mayTake: boolean) => {
      clearTimeout(timer)
      if (life.wake === end) life.wake = undefined
      life.answeredMs = Date.now()
      resolve(mayTake)
    }
    const timer = setTimeout(end, catalogWaitMs, false).unref()
    life.wake = end
    return (await promise) ? this.#take(life) : []
  }

  /** Has one of the agents of a name that wait take what there is. */
  #wakeOne(agent: string): void {
    const life = this.#lives.values().find(({ name, wake }) => name === agent && wake !== undefined)
    life?.wake?.(true)
  }

  /** Some of the questions that wait. One that cannot be sent fails alone. */
  #take(life: Life): { id: string; pieces: number; first: string }[] {
    const waiting = this.#waiting.get(life.name) ?? new Set()
    return [...waiting].slice(0, questionsAtOnce).flatMap((asked) => {
      waiting.delete(asked)
      try {
        asked.sealed = piecesOf(this.#box.seal(asked.bytes, life.publicKey))
      } catch (cause) {
        const message = `agent ${life.name} cannot be sent a question: restart it, and update it if this goes on`
        asked.reject(new StoreError('unreachable', message, { cause }))
        return []
      }
      asked.holder = life
      life.hands.set(asked.id, asked)
      return [{ id: asked.id, pieces: asked.sealed.length, first: asked.sealed[0]! }]
    })
  }

  #inHands(caller: Caller, instance: string, id: string) {
    const life = this.#lives.get(instance)
    const asked = life?.hands.get(id)
    if (life === undefined || asked === undefined || life.keyId !== keyOf(caller)) throw notAsked()
    life.answeredMs = Date.now()
    return { life, asked }
  }

  /** Gives a question up, and throws, where its answer has grown too long, or all those of its key have. */
  #requireRoom(life: Life, asked: Asked, bytes: number): void {
    const { name, keyId } = life
    asked.answerBytes += bytes
    const isTooLong = asked.answerBytes > maxMessageBytes
    if (!isTooLong && this.#arrivingBytes(keyId) <= maxArrivingBytes) return
    asked.reject(
      isTooLong
        ? tooLarge(`the catalog behind agent ${name} has`, maxMessageBytes)
        : new StoreError(
            'throttled',
            `agent ${name} has more than ${mib(maxArrivingBytes)} of answers under way; trying again`,
          ),
    )
    throw notAsked()
  }

  #arrivingBytes(keyId: string): number {
    const asked = this.#ofKey(keyId).flatMap(({ hands }) => [...hands.values()])
    return asked.reduce((sum, { answerBytes }) => sum + answerBytes, 0)
  }

  #ofKey(keyId: string): Life[] {
    return this.#lives
      .values()
      .filter((life) => life.keyId === keyId)
      .toArray()
  }

  #lose({ name }: Life, { reject }: Asked): void {
    reject(new StoreError('unreachable', `agent ${name} was lost before it answered; trying again`))
  }

  #dropSilent(): void {
    for (const [instance, life] of this.#lives) {
      if (life.wake !== undefined || Date.now() - life.answeredMs <= goneAfterMs) continue
      const { name, hands } = life
      this.#lives.delete(instance)
      this.#options.log.warn({ agent: name }, 'An agent that serves catalogs stopped responding.')
      for (const asked of hands.values()) this.#lose(life, asked)
      if (this.#isThere(name)) continue
      for (const { reject } of this.#waiting.get(name) ?? []) reject(this.#nobody(name))
      this.#waiting.delete(name)
    }
  }
}

function problemOf(
  name: string,
  { protocol, version }: Input<(typeof catalogWork)['catalog-next']>,
): string | undefined {
  if (protocol === catalogProtocol) return undefined
  const older = protocol < catalogProtocol ? 'agent' : 'platform'
  return `agent ${name} cannot serve catalogs: its release ${version} uses protocol ${protocol} for them, but the platform uses ${catalogProtocol}: update the ${older}`
}

/** A text in pieces that fit into messages. Throws StoreError where it is too long for them. */
export function piecesOf(text: string): string[] {
  if (Buffer.byteLength(text) > maxMessageBytes)
    throw tooLarge('a catalog behind an agent has', maxMessageBytes)
  const pieces: string[] = []
  for (let at = 0; at === 0 || at < text.length; at += pieceLength)
    pieces.push(text.slice(at, at + pieceLength))
  return pieces
}

const tooLarge = (whatHas: string, max: number): StoreError =>
  new StoreError('too-large', `${whatHas} more than ${mib(max)} in one message`)
const mib = (bytes: number): string => `${Math.ceil(bytes / 2 ** 20)} MiB`

/** The broker lets nobody ask here but keys of agents. */
function keyOf(caller: Caller): string {
  if (caller.kind === 'key') return caller.keyId
  throw new GantryError('DENIED', 'only agents can use this')
}

const notAsked = () => new GantryError('NOT_FOUND', 'this was not asked of this agent')
