import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { NatsConnection } from '../../broker/rpc/connection.ts'
import { emission } from '../../broker/state/events.ts'
import type { Log } from '../../broker/common/log.ts'
import { every, type Task } from '../../broker/tasks/tasks.ts'
import { alertEvents, maxResolved } from '../../subjects/observability/alerts.ts'
import { kindOf } from '../../subjects/observability/alert-model.ts'
import { builtInRules } from './built-in-rules.ts'
import { judge, type Observation, type Track } from './judge.ts'
import { Look, observe } from './observe.ts'
import type { AlertState, StoredAlert, StoredRule } from './record.ts'

/** A look takes milliseconds, if nothing hangs. */
const patienceMs = 2_000
/** Objects that one rule fires for at once: a thousand lost extensions are one fault, and a hundred of them tell it. */
const maxFiringOfRule = 100

export interface EvaluatorOptions {
  readonly connection: NatsConnection
  readonly state: Pick<AlertState, 'rules' | 'alerts'>
  /** Makes the messages to webhooks; may be asked twice for the same. */
  readonly tell: (alert: StoredAlert) => Promise<void>
  readonly log: Log
}

/** Looks at all rules again and again; alerts are what came of it. */
export class Evaluator {
  readonly #options: EvaluatorOptions
  /** All that are stored, by id: this process alone writes them. */
  readonly #alerts = new Map<string, StoredAlert>()
  /** By rule, then by object. */
  readonly #tracks = new Map<string, Map<string, Track>>()
  #task: Task | undefined
  #looking: Promise<void> | undefined
  /** The look after that. */
  #again: Promise<void> | undefined
  /** Whether a write has failed that may have been made all the same. */
  #isUnsure = false
  /** Rules that could not be looked at, so that this is logged once. */
  readonly #blind = new Set<string>()

  constructor(options: EvaluatorOptions) {
    this.#options = options
  }

  /** Takes up what is stored, and begins to look. */
  async start(): Promise<void> {
    await this.#load()
    this.#task = every('alerts.rules', () => this.look())
    void this.look()
  }

  async #load(): Promise<void> {
    const nowMs = Date.now()
    this.#alerts.clear()
    for (const alert of await this.#options.state.alerts.all()) {
      this.#alerts.set(alert.id, alert)
      if (alert.state !== 'firing') continue
      const track = { beganMs: Date.parse(alert.began), lastMs: nowMs, isFiring: true }
      this.#tracksOf(alert.rule).set(alert.object, track)
    }
  }

  async stop(): Promise<void> {
    this.#task?.stop()
    await (this.#again ?? this.#looking)
  }

  /** The newest first. */
  alerts(): StoredAlert[] {
    return [...this.#alerts.values()].toSorted((a, b) => (a.fired > b.fired ? -1 : 1))
  }

  get(id: string): StoredAlert | undefined {
    return this.#alerts.get(id)
  }

  /** The rules that hold: built-in ones as they were changed, and those that were made. */
  async rules(): Promise<StoredRule[]> {
    const stored = await this.#options.state.rules.all()
    const rules = new Map([...builtInRules, ...stored].map((rule) => [rule.name, rule]))
    return [...rules.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1))
  }

  /** Resolves when all rules have been looked at as they are now. Never rejects: what fails is looked at again. */
  look(): Promise<void> {
    // The one under way may have seen what was there before.
    this.#again ??= (this.#looking ?? Promise.resolve()).then(() => {
      this.#looking = this.#again
      this.#again = undefined
      return this.#look().catch((err: unknown) =>
        this.#options.log.warn({ err }, 'Alert rules could not be evaluated; retrying.'),
      )
    })
    return this.#again
  }

  /** The same for who does not wait long: that something hangs is when alerts are asked for. */
  async lookBriefly(): Promise<void> {
    await Promise.race([this.look(), delay(patienceMs, undefined, { ref: false })])
  }

  async #look(): Promise<void> {
    if (this.#isUnsure) await this.#load()
    this.#isUnsure = false
    const look = new Look(this.#options.connection)
    const rules = (await this.rules()).filter(({ enabled }) => enabled)
    const names = new Set(rules.map(({ name }) => name))
    for (const alert of this.alerts())
      if (alert.state === 'firing' && !names.has(alert.rule)) await this.#resolve(alert)
    for (const name of this.#tracks.keys()) if (!names.has(name)) this.#tracks.delete(name)
    for (const rule of rules) {
      try {
        await this.#judge(rule, await observe(rule, look))
        this.#blind.delete(rule.name)
      } catch (err) {
        if (!this.#blind.has(rule.name))
          this.#options.log.warn({ err, rule: rule.name }, 'An alert rule could not be evaluated; retrying.')
        this.#blind.add(rule.name)
      }
    }
    for (const alert of this.alerts()) if (alert.told !== alert.state) await this.#tell(alert)
  }

  async #judge(rule: StoredRule, seen: readonly Observation[]): Promise<void> {
    const tracks = this.#tracksOf(rule.name)
    const nowMs = Date.now()
    const byObject = new Map(seen.map((one) => [one.object, one]))
    for (const object of new Set([...tracks.keys(), ...byObject.keys()])) {
      const observation = byObject.get(object)
      const before = tracks.get(object)
      if (before === undefined && tracks.size >= maxFiringOfRule) continue
      const { track, verdict } = judge(rule, before, observation !== undefined, nowMs)
      // What cannot be stored is judged again.
      if (verdict === 'fire' && observation !== undefined) await this.#fire(rule, observation, track!.beganMs)
      else if (observation !== undefined && track?.isFiring === true)
        await this.#restate(rule.name, observation)
      if (verdict === 'resolve') {
        const firing = this.#firing(rule.name, object)
        if (firing !== undefined) await this.#resolve(firing)
      }
      if (track === undefined) tracks.delete(object)
      else tracks.set(object, track)
    }
  }

  async #fire(rule: StoredRule, { object, summary, value }: Observation, beganMs: number): Promise<void> {
    const { name, kind, severity, threshold } = rule
    const alert: StoredAlert = {
      id: randomUUID(),
      rule: name,
      kind,
      severity,
      state: 'firing',
      object,
      summary,
      ...(value === undefined ? {} : { value }),
      ...(threshold === undefined ? {} : { threshold }),
      began: new Date(beganMs).toISOString(),
      fired: new Date().toISOString(),
    }
    const { state, log } = this.#options
    await this.#write(() =>
      state.alerts.create(alert.id, alert, [emission(alertEvents.fired, alert.id, factOf(alert))]),
    )
    this.#alerts.set(alert.id, alert)
    log.warn({ alert: alert.id, rule: name, object }, `Alert: ${summary}`)
  }

  /** An alert says what is so now: nobody is told again that it fires. */
  async #restate(rule: string, { object, summary, value }: Observation): Promise<void> {
    const firing = this.#firing(rule, object)
    // How large a figure is changes all the time.
    if (firing === undefined || firing.summary === summary || value !== undefined) return
    const alert = await this.#write(() =>
      this.#options.state.alerts.update(firing.id, (current) => ({ ...current, summary })),
    )
    this.#alerts.set(alert.id, alert)
  }

  async #resolve(firing: StoredAlert): Promise<void> {
    const { state, log } = this.#options
    const resolved = new Date().toISOString()
    const alert = await this.#write(() =>
      state.alerts.update(
        firing.id,
        (current) => ({ ...current, state: 'resolved', resolved }),
        (next) => [emission(alertEvents.resolved, next.id, factOf(next))],
      ),
    )
    this.#alerts.set(alert.id, alert)
    log.info({ alert: alert.id, rule: alert.rule, object: alert.object }, 'An alert was resolved.')
    const over = this.alerts().filter((one) => one.state === 'resolved')
    for (const { id } of over.slice(maxResolved)) {
      await state.alerts.erase(id)
      this.#alerts.delete(id)
    }
  }

  /** Makes the messages, then notes that they are made: a process that dies in between makes them again. */
  async #tell(alert: StoredAlert): Promise<void> {
    await this.#options.tell(alert)
    const told = await this.#options.state.alerts.update(alert.id, (current) => ({
      ...current,
      told: alert.state,
    }))
    this.#alerts.set(alert.id, told)
  }

  async #write<T>(write: () => Promise<T>): Promise<T> {
    try {
      return await write()
    } catch (error) {
      this.#isUnsure = true
      throw error
    }
  }

  #firing(rule: string, object: string): StoredAlert | undefined {
    return this.alerts().find((one) => one.state === 'firing' && one.rule === rule && one.object === object)
  }

  #tracksOf(rule: string): Map<string, Track> {
    const tracks = this.#tracks.get(rule) ?? new Map<string, Track>()
    this.#tracks.set(rule, tracks)
    return tracks
  }
}

const factOf = ({ id, rule, kind, severity, state, object }: StoredAlert) => ({
  id,
  rule,
  kind,
  severity,
  state,
  ...(kindOf(kind).migrationOf === undefined ? {} : { migration: object }),
})
