import { setTimeout as delay } from 'node:timers/promises'
import { agents } from '../../subjects/migrations/agents.ts'
import { AgentChild } from '../support/agent-child.ts'
import { oneOf, randomBelow, seededRandom } from '../support/random.ts'
import type { Kill, VictimName } from './tally.ts'
import type { Victim } from './victim.ts'

/** Some come before anything could settle after the last. */
const shortWaitMs = 60
/** A platform is ready a second after its start, nats-server in a tenth of one. */
/** A change of a state takes some ten milliseconds. */
const disturbanceMs = 30
const restartMs = { platform: 1_200, 'nats-server': 150 } as const

/** An agent with a key of its own, to be killed and started again. */
export class AgentVictim {
  readonly name: string
  readonly #token: string
  readonly #args: readonly string[]
  #child: AgentChild

  constructor(name: string, token: string, args: readonly string[]) {
    this.name = name
    this.#token = token
    this.#args = ['--name', name, ...args]
    this.#child = new AgentChild(token, this.#args)
  }

  /** What it has printed since it was started last. */
  get printed(): string {
    return this.#child.printed
  }

  /** kill -9; resolves with the time of it when it has ended. */
  async kill(): Promise<number> {
    this.#child.kill('SIGKILL')
    const atMs = Date.now()
    if ((await this.#child.exitCode()) !== null) throw new Error(`it had ended by itself: ${this.printed}`)
    return atMs
  }

  start(): void {
    this.#child = new AgentChild(this.#token, this.#args)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#child[Symbol.asyncDispose]()
  }
}

export interface KillerOptions {
  readonly victim: Victim
  readonly agents?: readonly AgentVictim[]
  readonly seed: number
  /** Kills come at any moment, up to so long after the last; waiting for a random time is the test. */
  readonly longestWaitMs: number
  /** What the migration is at; undefined when there is nothing to be done. */
  readonly phase: () => Promise<string | undefined>
  /** Asks for another state just before a kill, which then comes in the middle of that. */
  readonly disturb?: () => Promise<unknown>
  /** What is to hold at every moment. */
  readonly check: () => void | Promise<void>
}

/** Kills now this process, now that, at random moments. */
export class Killer {
  readonly #options: KillerOptions
  readonly #random: () => number

  constructor(options: KillerOptions) {
    this.#options = options
    this.#random = seededRandom(options.seed)
  }

  /** Waits for a random moment, kills, and lets it come back; resolves to what was killed, none when nothing is to be done. */
  async next(): Promise<Kill[]> {
    const { agents: all = [], phase, disturb } = this.#options
    const names: VictimName[] = ['platform', 'nats-server', ...all.map((): VictimName => 'agent')]
    // The same number of draws each time, so that a seed gives the same ones whatever came of those before.
    const waitMs = randomBelow(
      this.#random,
      randomBelow(this.#random, 4) === 0 ? shortWaitMs : this.#options.longestWaitMs,
    )
    const name = oneOf(this.#random, names)
    const agent = randomBelow(this.#random, Math.max(1, all.length))
    const again = randomBelow(this.#random, 4) === 0 ? this.#random() : undefined
    const disturbs = randomBelow(this.#random, 6) === 0
    const afterMs = randomBelow(this.#random, disturbanceMs)
    await delay(waitMs)
    const at = await phase()
    if (at === undefined) return []
    if (disturbs && disturb !== undefined) {
      // What came of it the next look at the state shows.
      disturb().catch(() => undefined)
      await delay(afterMs)
    }
    if (name === 'agent') return this.#killAgent(all[agent]!, at)
    return name === 'platform' ? this.#killPlatform(at, again) : this.#killBroker(at, again)
  }

  async #killPlatform(phase: string, again: number | undefined): Promise<Kill[]> {
    const { victim, check } = this.#options
    const kills: Kill[] = [{ victim: 'platform', phase, atMs: await victim.kill() }]
    await check()
    await victim.begin()
    if (again !== undefined) {
      await delay(again * restartMs.platform)
      kills.push({ victim: 'platform', phase: 'starting', atMs: await victim.kill() })
      await victim.begin()
    }
    await victim.isReady()
    return kills
  }

  async #killBroker(phase: string, again: number | undefined): Promise<Kill[]> {
    const { victim, check } = this.#options
    const kills: Kill[] = [{ victim: 'nats-server', phase, atMs: await victim.killBroker() }]
    if (again !== undefined) {
      await delay(again * restartMs['nats-server'])
      kills.push({ victim: 'nats-server', phase: 'starting', atMs: await victim.killBroker() })
    }
    await check()
    return kills
  }

  async #killAgent(agent: AgentVictim, phase: string): Promise<Kill[]> {
    const { victim, check } = this.#options
    const known = await victim.call(agents.list, {})
    const found = known.find(({ name }) => name === agent.name)
    const atMs = await agent.kill()
    await check()
    agent.start()
    // One that has nothing in hand is killed too, and is not counted.
    return found !== undefined && found.itemsInHand > 0 ? [{ victim: 'agent', phase, atMs }] : []
  }
}
