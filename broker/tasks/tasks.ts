import type { Output } from '../../subjects/kit/contract.ts'
import type { platform } from '../../subjects/platform/platform.ts'
import { maxTextLength } from '../../subjects/kit/schemas.ts'
import type { Log } from '../common/log.ts'
import { declarationOf, type PeriodicTaskName, taskList, type TaskName } from './task-list.ts'

/** Node's timers take no more: a task that is due later runs in between, and finds that nothing is due. */
const maxTimerMs = 2 ** 31 - 1

type TaskView = Output<(typeof platform)['tasks']>[number]

/** What is known of all tasks of one name in this process. */
interface Known {
  readonly running: Set<Task>
  runs: number
  failures: number
  lastMs?: number
  durationMs?: number
  lastError?: string
}

const known = new Map<TaskName, Known>()
/** Of the tasks of this process; the platform sets it when it starts. */
let taskLog: Pick<Log, 'error'> | undefined

/** Failures of tasks that nobody else handles are logged here. */
export const logTaskFailures = (log: Pick<Log, 'error'> | undefined): void => void (taskLog = log)

function knownOf(name: TaskName): Known {
  const one = known.get(name) ?? { running: new Set(), runs: 0, failures: 0 }
  known.set(name, one)
  return one
}

/** A task of the list at work in this process. It does not keep the process alive, and is never run twice at once. */
export class Task implements Disposable {
  readonly name: TaskName
  readonly #run: () => unknown
  readonly everyMs: number | undefined
  #timer: NodeJS.Timeout | undefined
  #isBusy = false
  /** It became due while it was running: what that run did not see has to be done after it. */
  #isDueAgain = false
  /** When it is due, in milliseconds since 1970; undefined while nothing is due. */
  nextMs: number | undefined

  /** @param everyMs undefined: it runs when it is due (`due`) */
  constructor(name: TaskName, run: () => unknown, everyMs?: number) {
    this.name = name
    this.#run = run
    this.everyMs = everyMs
    knownOf(name).running.add(this)
    if (everyMs === undefined) return
    this.nextMs = Date.now() + everyMs
    this.#timer = setInterval(() => this.#tick(), everyMs).unref()
  }

  /** Runs it once after so many milliseconds, and not at the time that was set before. */
  due(inMs: number): void {
    clearTimeout(this.#timer)
    const waitMs = Math.min(Math.max(0, inMs), maxTimerMs)
    this.nextMs = Date.now() + waitMs
    this.#timer = setTimeout(() => {
      this.nextMs = undefined
      this.#tick()
    }, waitMs).unref()
  }

  /** Nothing is due any more. */
  notDue(): void {
    clearTimeout(this.#timer)
    this.nextMs = undefined
  }

  /** Ends it; a run that is under way goes on to its end. */
  stop(): void {
    clearTimeout(this.#timer)
    this.#isDueAgain = false
    known.get(this.name)?.running.delete(this)
  }

  [Symbol.dispose](): void {
    this.stop()
  }

  #tick(): void {
    if (this.everyMs !== undefined) this.nextMs = Date.now() + this.everyMs
    if (this.#isBusy) {
      this.#isDueAgain = this.everyMs === undefined
      return
    }
    const one = knownOf(this.name)
    const begunMs = performance.now()
    one.lastMs = Date.now()
    const ended = (error?: unknown) => {
      this.#isBusy = false
      one.runs += 1
      one.durationMs = performance.now() - begunMs
      if (this.#isDueAgain) this.due(0)
      this.#isDueAgain = false
      if (error === undefined) return
      one.failures += 1
      one.lastError = (error instanceof Error ? `${error.name}: ${error.message}` : 'no error').slice(
        0,
        maxTextLength,
      )
      taskLog?.error(
        { err: error, task: this.name },
        'A background task failed; it runs again when it is due.',
      )
    }
    try {
      const result = this.#run()
      if (!(result instanceof Promise)) return ended()
      this.#isBusy = true
      result.then(
        () => ended(),
        (error: unknown) => ended(error ?? new Error('it failed without an error message')),
      )
    } catch (error) {
      ended(error)
    }
  }
}

/** Runs a task of the list again and again, in its period or the given one, until it is stopped. */
export function every(name: PeriodicTaskName, run: () => unknown): Task
export function every(name: TaskName, run: () => unknown, everyMs: number): Task
export function every(name: TaskName, run: () => unknown, everyMs?: number): Task {
  return new Task(name, run, everyMs ?? declarationOf(name).everyMs)
}

/** Announces a task of the list that runs when it is due. */
export const whenDue = (name: TaskName, run: () => unknown): Task => new Task(name, run)

const isoTime = (ms: number): string => new Date(ms).toISOString()

/** All tasks of the list, and how they go in this process. */
export function tasksHere(): TaskView[] {
  return (Object.keys(taskList) as TaskName[]).map((name) => {
    const { owner, summary, everyMs: declaredMs } = declarationOf(name)
    const { running, runs, failures, lastMs, durationMs, lastError } = known.get(name) ?? {
      running: new Set<Task>(),
      runs: 0,
      failures: 0,
    }
    const [task] = running
    const everyMs = declaredMs ?? task?.everyMs
    const nextMs = Math.min(...Array.from(running, (task) => task.nextMs ?? Infinity))
    return {
      name,
      owner,
      summary,
      ...(everyMs === undefined ? {} : { everySeconds: everyMs / 1_000 }),
      running: running.size,
      runs,
      failures,
      ...(lastMs === undefined ? {} : { lastRun: isoTime(lastMs) }),
      ...(durationMs === undefined ? {} : { durationMs: Math.round(durationMs * 1_000) / 1_000 }),
      ...(nextMs === Infinity ? {} : { nextRun: isoTime(nextMs) }),
      ...(lastError === undefined ? {} : { lastError }),
    }
  })
}
