import { every, type Task } from '../../broker/tasks/tasks.ts'
import type { PeriodicTaskName } from '../../broker/tasks/task-list.ts'

/** Looks again and again at what moves, as often as the list of tasks says, and never twice at a time. */
export class Poller {
  readonly #name: PeriodicTaskName
  readonly #look: () => Promise<void>
  readonly #failed: (error: unknown) => void
  #looking: Promise<void> | undefined
  #task: Task | undefined

  /** @param failed hears why a look failed; the next one comes all the same */
  constructor(name: PeriodicTaskName, look: () => Promise<void>, failed: (error: unknown) => void) {
    this.#name = name
    this.#look = look
    this.#failed = failed
  }

  start(): void {
    this.#task = every(this.#name, () => this.look())
  }

  async stop(): Promise<void> {
    this.#task?.stop()
    await this.#looking
  }

  /** Looks now; resolves when the look that is under way is over, if there is one. Never rejects. */
  look(): Promise<void> {
    this.#looking ??= this.#look()
      .catch(this.#failed)
      .finally(() => (this.#looking = undefined))
    return this.#looking
  }
}
