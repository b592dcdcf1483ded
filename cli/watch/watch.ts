import { type GantryError, isGantryError } from '../../subjects/kit/errors.ts'
import type { Context, Globals } from '../context.ts'
import { exitCodes, isUnreachable } from '../exit-codes.ts'
import { wantedOf } from '../output/form.ts'
import type { Session } from '../sign-in/session.ts'
import type { Seen } from './seen.ts'
import { type FailuresTold, patienceMs } from './text.ts'
import { watchView } from './view.ts'

/** Between two looks; an event is followed by a look at once. */
const intervalMs = 1_000

/** What is watched: one migration, or all of a sort that are started, also later. */
export interface Watched {
  /**
   * @param wake there is something to look at
   * @param failed the list of what did not arrive has changed
   */
  listen(session: Session, wake: () => void, failed: (told: FailuresTold) => void): void
  /** How far each is, those included that ended since the last look. @throws GantryError */
  look(session: Session): Promise<Seen[]>
}

/**
 * `gantry watch`: shows the progress of migrations until each has ended; live and recurring ones never do. A restart of the
 * platform in between is waited for. Resolves to the exit code.
 */
export async function watch(context: Context, globals: Globals, watched: Watched): Promise<number> {
  const { terminal } = context
  const view = watchView(terminal, wantedOf(globals).form)
  /** What was seen last of those that have ended, by name. */
  const over = new Map<string, Seen>()
  let wake = (): void => undefined
  const open = async () => {
    const session = await context.connect(globals)
    watched.listen(
      session,
      () => wake(),
      (told) => view.failed(told),
    )
    return session
  }
  let session = await open()
  try {
    let awaySince: number | undefined
    for (;;) {
      const woken = new Promise<void>((resolve) => (wake = resolve))
      try {
        if (session.isClosed()) session = await open()
        const seen = await watched.look(session)
        awaySince = undefined
        const [ending, going] = split(seen, ({ isOver }) => isOver)
        for (const one of ending) over.set(one.id, one)
        for (const { id } of going) over.delete(id)
        if (ending.length > 0) {
          view.show(ending)
          view.end(ending)
        }
        if (going.length > 0) view.show(going)
        else {
          if (over.size === 0) terminal.err('No migration is running.\n')
          return [...over.values()].every(({ isDone }) => isDone)
            ? exitCodes.ok.status
            : exitCodes.failed.status
        }
      } catch (error) {
        awaySince ??= performance.now()
        if (!mayComeBack(error) || performance.now() - awaySince > patienceMs) throw error
        view.away()
      }
      const timer = setTimeout(wake, intervalMs)
      await woken
      clearTimeout(timer)
    }
  } finally {
    await session.close()
  }
}

function split<T>(all: readonly T[], isFirst: (one: T) => boolean): [T[], T[]] {
  return [all.filter(isFirst), all.filter((one) => !isFirst(one))]
}

/** Nobody answers, or the broker is back and what decides about tokens is not yet. */
const mayComeBack = (error: unknown): error is GantryError =>
  isUnreachable(error) || isGantryError(error, 'UNAUTHENTICATED')
