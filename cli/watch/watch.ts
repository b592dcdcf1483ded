import type { Payload } from '../../subjects/kit/contract.ts'
import { type GantryError, isGantryError } from '../../subjects/kit/errors.ts'
import { migrationEvents } from '../../subjects/migrations/events.ts'
import { eventSubject } from '../../subjects/kit/names.ts'
import type { Context, Globals } from '../context.ts'
import { exitCodes, isUnreachable } from '../exit-codes.ts'
import { AllStarted, ended, OneNamed } from './look.ts'
import { type Info, RateMeter } from './rate.ts'
import { type FailuresTold, patienceMs } from './text.ts'
import { type Seen, watchView } from './view.ts'

/** Between two looks; an event is followed by a look at once. */
const intervalMs = 1_000

const subjectOf = ({ resource, event }: (typeof migrationEvents)[keyof typeof migrationEvents]) =>
  eventSubject(resource, event, '*')
const ofAnyKind = eventSubject(migrationEvents.started.resource, '*', '*')
const failuresChanged = subjectOf(migrationEvents['failures-changed'])
const begun = subjectOf(migrationEvents.started)
type Begun = Payload<typeof migrationEvents.started>

/**
 * `gantry watch`: shows the progress of one migration, or of all that are started, also later, until each has ended; live
 * and recurring ones never do. A restart of the platform in between is waited for. Resolves to the exit code.
 */
export async function watch(context: Context, globals: Globals, migrationId?: string): Promise<number> {
  const { terminal } = context
  const view = watchView(terminal, { json: globals.json === true })
  const meters = new Map<string, RateMeter>()
  const watched = migrationId === undefined ? new AllStarted() : new OneNamed(migrationId)
  /** What was seen last of those that have ended, by name. */
  const over = new Map<string, Seen>()
  let wake = (): void => undefined
  const open = async () => {
    const session = await context.connect(globals)
    // Nobody but the platform publishes these.
    session.listen(ofAnyKind, () => wake())
    session.listen(begun, (payload) => watched.begun((payload as Begun).migrationId))
    session.listen(failuresChanged, (payload) => {
      const told = payload as FailuresTold
      if (watched.has(told.migrationId)) view.failed(told)
    })
    return session
  }
  let session = await open()
  try {
    let awaySince: number | undefined
    for (;;) {
      const woken = new Promise<void>((resolve) => (wake = resolve))
      try {
        if (session.isClosed()) session = await open()
        const seen = (await watched.look(session)).map((info) => measured(meters, info))
        awaySince = undefined
        const [ending, going] = split(seen, ({ info }) => ended.includes(info.state))
        for (const one of ending) over.set(one.info.id, one)
        for (const { info } of going) over.delete(info.id)
        if (ending.length > 0) {
          view.show(ending)
          view.end(ending)
        }
        if (going.length > 0) view.show(going)
        else {
          if (over.size === 0) terminal.err('No migration is running.\n')
          return exitCodeFor([...over.values()])
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

function measured(meters: Map<string, RateMeter>, info: Info): Seen {
  const meter = meters.get(info.id) ?? new RateMeter()
  meters.set(info.id, meter)
  return { info, rate: meter.add(info, performance.now()) }
}

/** Nobody answers, or the broker is back and what decides about tokens is not yet. */
const mayComeBack = (error: unknown): error is GantryError =>
  isUnreachable(error) || isGantryError(error, 'UNAUTHENTICATED')

const exitCodeFor = (seen: readonly Seen[]): number =>
  seen.every(({ info }) => info.state === 'COMPLETED' && info.progress.failedPaths === 0)
    ? exitCodes.ok.status
    : exitCodes.failed.status
