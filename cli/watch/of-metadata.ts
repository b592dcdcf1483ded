import type { Payload } from '../../subjects/kit/contract.ts'
import { eventSubject, product } from '../../subjects/kit/names.ts'
import { allPages } from '../../subjects/kit/pages.ts'
import {
  type MetadataMigration,
  metadataMigrationEvents,
  metadataMigrations,
} from '../../subjects/metadata/migrations.ts'
import { countText } from '../output/format.ts'
import { printable } from '../output/terminal.ts'
import type { Session } from '../sign-in/session.ts'
import type { Seen } from './seen.ts'
import { shellArgument } from '../../subjects/kit/shell-word.ts'
import type { Watched } from './watch.ts'

const { resource } = metadataMigrationEvents.changed
const ofAnyKind = eventSubject(resource, '*', '*')
const changed = eventSubject(resource, metadataMigrationEvents.changed.event, '*')
type Changed = Payload<typeof metadataMigrationEvents.changed>

/** One migration of metadata, or all that run, also later. */
export class OfMetadata implements Watched {
  readonly #migrationName: string | undefined
  /** Those whose end was not seen yet. */
  readonly #going = new Set<string>()

  constructor(migrationName: string | undefined) {
    this.#migrationName = migrationName
  }

  listen(session: Session, wake: () => void): void {
    session.listen(ofAnyKind, wake)
    session.listen(changed, (payload) => {
      const { migrationName, state } = payload as Changed
      // It may be done before the next look.
      if (state === 'RUNNING') this.#going.add(migrationName)
    })
  }

  async look(session: Session): Promise<Seen[]> {
    const migrationName = this.#migrationName
    if (migrationName !== undefined)
      return [metadataSeen(await session.call(metadataMigrations.get, { migrationName }))]
    // What begins meanwhile is for the next look, which its event wakes.
    const before = new Set(this.#going)
    const all = await allPages((after?: MetadataMigration) =>
      session.call(metadataMigrations.list, { ...(after && { after: after.migrationName }) }),
    )
    for (const name of before) this.#going.delete(name)
    for (const { migrationName: name, state } of all) if (state === 'RUNNING') this.#going.add(name)
    return all
      .filter(({ migrationName: name, state }) => state === 'RUNNING' || before.has(name))
      .map(metadataSeen)
  }
}

export function metadataSeen(migration: MetadataMigration): Seen {
  const { migrationName, state, phase, reason, failed, conflicts, held } = migration
  const name = printable(migrationName)
  const why = reason === undefined ? [] : [printable(reason)]
  const parts = partsOf(migration)
  return {
    id: migrationName,
    isOver: state !== 'RUNNING',
    isDone: state === 'COMPLETED' && failed + conflicts + held === 0,
    said: [state, phase, ...why].join(),
    reply: migration,
    line: (columns) => [name, ...parts, phaseText(migration)].join('  ').slice(0, columns),
    below: why.map((text) => `  ${text}`),
    plain: [name, state, ...parts, ...(phase === undefined ? [] : [phaseText(migration)]), ...why].join('  '),
    end: endLine(migration),
  }
}

const phaseText = ({ state, phase }: MetadataMigration): string => {
  if (phase === undefined) return state.toLowerCase()
  return phase === 'comparing' ? 'compares' : 'following changes'
}

const some = (count: number, one: string, more = `${one}s`): string =>
  `${countText(count)} ${count === 1 ? one : more}`

const arrivedText = ({ databases, tables, partitions, functions }: MetadataMigration): string =>
  [
    some(databases, 'database'),
    some(tables, 'table'),
    some(partitions, 'partition'),
    ...(functions > 0 ? [some(functions, 'function')] : []),
  ].join(', ')

/** What has not arrived, or is not as it should be. */
const openTexts = ({ failed, conflicts, waiting, held }: MetadataMigration): string[] => [
  ...(failed > 0 ? [some(failed, 'failure')] : []),
  ...(conflicts > 0 ? [some(conflicts, 'conflict')] : []),
  ...(waiting > 0 ? [`${countText(waiting)} waiting`] : []),
  ...(held > 0 ? [some(held, 'held drop', 'held drops')] : []),
]

function partsOf(migration: MetadataMigration): string[] {
  const { lagSeconds, lagEvents } = migration
  const events = lagEvents === undefined ? '' : `, ${some(lagEvents, 'event')}`
  return [
    arrivedText(migration),
    ...openTexts(migration),
    ...(lagSeconds === undefined ? [] : [`lag ${countText(lagSeconds)} s${events}`]),
  ]
}

function endLine(migration: MetadataMigration): string {
  const { migrationName, state, reason } = migration
  const name = printable(migrationName)
  const command = (verb: string) => `${product} metadata-migrations ${verb} ${shellArgument(migrationName)}`
  switch (state) {
    case 'CREATED':
      return `${name} was not started; start it with: ${command('start')}`
    case 'PAUSED':
      return `${name} is paused; continue with: ${command('resume')}`
    case 'STOPPED':
      return `${name} is stopped; start it again with: ${command('start')}`
    case 'FAILED':
      return `${name} has failed${reason === undefined ? '' : `: ${printable(reason)}`}; fix the cause, then run: ${command('start')}`
    case 'RUNNING':
      return `${name} is running`
    case 'COMPLETED': {
      const open = openTexts(migration)
      const done = `${name} is completed${open.length === 0 ? '' : ` with ${open.join(', ')}`}: ${arrivedText(migration)} at the target`
      return open.length === 0 ? done : `${done}; list them with: ${command('objects')}`
    }
  }
}
