import type { Log } from '../../broker/common/log.ts'
import { whenDue } from '../../broker/tasks/tasks.ts'
import { type LogEntry, maxLogEntries } from '../../subjects/extensions/model.ts'
import { maxTextLength } from '../../subjects/kit/schemas.ts'
import { shortened } from '../../subjects/kit/shortened.ts'
import type { ExtensionState } from './record.ts'

/** How long the same is counted before it is written, so that a flood is one entry a second. */
const countMs = 1_000
/** Messages of one extension that are told apart within that time. */
export const maxApart = 50

type Note = Pick<LogEntry, 'level' | 'message' | 'instance' | 'count'>

/** What happened to each extension: its last entries, stored. */
export class LogBook {
  readonly #logs: ExtensionState['logs']
  readonly #log: Log
  readonly #waiting = new Map<string, Map<string, LogEntry>>()
  readonly #task = whenDue('extensions.logs', () => this.flush())

  constructor(logs: ExtensionState['logs'], log: Log) {
    this.#logs = logs
    this.#log = log
  }

  note(prefix: string, { level, message, instance, count = 1 }: Note): void {
    const entries = this.#waiting.get(prefix) ?? new Map<string, LogEntry>()
    const name = JSON.stringify([level, message, instance])
    const known = entries.get(name)
    if (known !== undefined) known.count = (known.count ?? 1) + count
    else if (entries.size < maxApart) {
      entries.set(name, {
        time: new Date().toISOString(),
        level,
        message: shortened(message, maxTextLength),
        ...(instance === undefined ? {} : { instance }),
        ...(count === 1 ? {} : { count }),
      })
    }
    this.#waiting.set(prefix, entries)
    if (this.#task.nextMs === undefined) this.#task.due(countMs)
  }

  /** Oldest first, with what is not yet stored. */
  async read(prefix: string): Promise<LogEntry[]> {
    await this.flush()
    return (await this.#logs.get(prefix))?.entries ?? []
  }

  async forget(prefix: string): Promise<void> {
    await this.flush()
    await this.#logs.erase(prefix)
  }

  async flush(): Promise<void> {
    this.#task.notDue()
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    for (const [prefix, entries] of waiting) {
      try {
        await this.#logs.upsert(prefix, (page) => ({
          entries: [...(page?.entries ?? []), ...entries.values()].slice(-maxLogEntries),
        }))
      } catch (err) {
        this.#log.error(
          { err, prefix, entries: entries.size },
          'The log of an extension could not be written.',
        )
      }
    }
  }
}
