import { type GantryError, isGantryError } from '../subjects/errors.ts'
import type { MigrationState } from '../subjects/migration-model.ts'
import { migrationEvents } from '../subjects/migration-events.ts'
import { migrations } from '../subjects/migrations.ts'
import { eventSubject, passingSubject } from '../subjects/names.ts'
import type { Context, Globals } from './context.ts'
import { exitCodes, isUnreachable } from './exit-codes.ts'
import type { Session } from './session.ts'
import { type Info, RateMeter } from './watch-rate.ts'
import type { FailuresTold } from './watch-text.ts'
import { type Seen, watchView } from './watch-view.ts'

/** Between two views; a change of a state is followed by a look at once. */
const intervalMs = 1_000
/** The platform tells of figures that move, and nothing of those that rest: after this long it is asked whether it is there. */
const quietMs = 5_000
/** A platform that is started again is back within seconds; after this it is not coming. */
const patienceMs = 60_000

const { resource, event } = migrationEvents['failures-changed']
const failuresChanged = eventSubject(resource, event, '*')
const progressed = passingSubject(resource, migrationEvents.progressed.event, '*')

const ended: readonly MigrationState[] = ['NONSCHEDULED', 'STOPPED', 'COMPLETED']

/**
 * `gantry watch`: shows the progress of one migration, or of all that are running, until each has ended; live and recurring
 * ones never do. A restart of
 * the platform in between is waited for. Resolves to the exit code.
 */
export async function watch(context: Context, globals: Globals, migrationId?: string): Promise<number> {
  const { terminal } = context
  const view = watchView(terminal, { json: globals.json === true })
  const meters = new Map<string, RateMeter>()
  let wake = (): void => undefined
  /** Whether the platform has to be asked, whatever it told. */
  let isDue = true
  /** What it told of figures since they were shown last. */
  const heard = new Map<string, Info>()
  const open = async () => {
    const session = await context.connect(globals)
    session.listen(eventSubject(resource, '*', '*'), () => {
      isDue = true
      wake()
    })
    session.listen(progressed, (payload) => {
      const info = payload as Info
      if (ids.includes(info.id)) heard.set(info.id, info)
    })
    session.listen(failuresChanged, (payload) => {
      // Nobody but the platform publishes it.
      const told = payload as FailuresTold
      if (ids.includes(told.migrationId)) view.failed(told)
    })
    return session
  }
  let ids = migrationId === undefined ? [] : [migrationId]
  let session = await open()
  try {
    if (migrationId === undefined) ids = await runningIds(session)
    if (ids.length === 0) terminal.err('No migration is running.\n')
    let awaySince: number | undefined
    let infos: readonly Info[] = []
    // Who hears of figures need not ask for them; a key may have no rule to hear them.
    let freshForMs = 0
    let freshUntil = 0
    for (;;) {
      const woken = new Promise<void>((resolve) => (wake = resolve))
      try {
        if (session.isClosed()) {
          session = await open()
          isDue = true
        }
        const told = new Map(heard)
        heard.clear()
        if (told.size > 0) freshForMs = quietMs
        const isAsked = isDue || (told.size === 0 && performance.now() >= freshUntil)
        isDue = false
        infos = isAsked ? await look(session, ids) : infos.map((info) => told.get(info.id) ?? info)
        if (isAsked || told.size > 0) freshUntil = performance.now() + freshForMs
        const seen = infos.map((info) => measured(meters, info))
        awaySince = undefined
        view.show(seen)
        if (seen.every(({ info }) => ended.includes(info.state))) {
          view.end(seen)
          return exitCodeFor(seen)
        }
      } catch (error) {
        isDue = true
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

function measured(meters: Map<string, RateMeter>, info: Info): Seen {
  const meter = meters.get(info.id) ?? new RateMeter()
  meters.set(info.id, meter)
  return { info, rate: meter.add(info, performance.now()) }
}

async function runningIds(session: Session): Promise<string[]> {
  const { running, live } = await session.call(migrations.summary, {})
  return [running, live].flatMap((list) => list.migrations.map(({ id }) => id))
}

/** One migration by its name; several with one call, however many they are. */
async function look(session: Session, ids: readonly string[]): Promise<Info[]> {
  const [only, ...others] = ids
  if (only === undefined) return []
  if (others.length === 0) return [await session.call(migrations.progress, { migrationId: only })]
  const {
    overallCount: _all,
    migrationStats: _stats,
    ...byState
  } = await session.call(migrations.summary, {})
  const all = Object.values(byState).flatMap((list) => list.migrations)
  return all.filter(({ id }) => ids.includes(id))
}

/** Nobody answers, or the broker is back and what decides about tokens is not yet. */
const mayComeBack = (error: unknown): error is GantryError =>
  isUnreachable(error) || isGantryError(error, 'UNAUTHENTICATED')

const exitCodeFor = (seen: readonly Seen[]): number =>
  seen.every(({ info }) => info.state === 'COMPLETED' && info.progress.failedPaths === 0)
    ? exitCodes.ok.status
    : exitCodes.failed.status
