import { Type } from 'typebox'
import { conditions } from './model/conditions.ts'
import { events } from '../kit/contract.ts'
import { failureClassNames } from './model/failure-classes.ts'
import { FailedPath } from './failures.ts'
import { Info } from './model/figures.ts'
import { migrationStates } from './model/model.ts'
import { Count, list, Name, record, strict, Uuid } from '../kit/schemas.ts'

const migrationId = Name('Name of the migration')
const internalId = Uuid('Unique id of the migration; a new migration with the same name has another one')

const state = Type.Enum(migrationStates)
const fact = { migrationId, internalId, state }
const change = { ...fact, previous: Type.Enum(migrationStates, { description: 'Previous state' }) }

/** Enough to see what is wrong; one such event a second is kept for days. */
export const maxToldFailures = 5

/** Every change of a state is one of these, and each is told once; how far a migration is comes beside them. */
export const migrationEvents = events('migrations', {
  created: { summary: 'A migration was created', payload: strict(fact) },
  updated: { summary: 'Priority, recurrence or movers of a migration were changed', payload: strict(fact) },
  scheduled: {
    summary:
      'A migration waits to run: it was started, its scheduled time has come, or a migration with higher priority displaced it',
    payload: strict(change),
  },
  started: { summary: 'A migration was started or continues', payload: strict(change) },
  live: {
    summary: 'All existing files are copied; from now on, changes are followed',
    payload: strict(change),
  },
  stopping: { summary: 'A migration is being stopped', payload: strict(change) },
  stopped: { summary: 'A migration was stopped', payload: strict(change) },
  waiting: { summary: 'A recurring migration is finished until its next run', payload: strict(change) },
  completed: {
    summary: 'A migration has nothing left to do',
    payload: strict({ ...change, failedPathCount: Count('Paths that could not be copied') }),
  },
  reset: {
    summary: 'A migration was reset; it starts over',
    payload: strict(change),
  },
  'region-added': { summary: 'A rescan of a folder was requested', payload: strict(fact) },
  'work-lost': {
    summary:
      'The broker lost work items of a migration because its storage was damaged; a live migration is compared, any other is scanned from the start',
    payload: strict({
      ...fact,
      items: Type.Optional(Count('Minimum number of lost items; absent if unknown')),
    }),
  },
  'conditions-changed': {
    summary: 'A condition that blocks or delays a migration, or its change detection, began or ended',
    payload: strict({ ...fact, conditions }),
  },
  'failures-changed': {
    summary:
      'Paths were added to or removed from the list of failures; at most one event per second and migration',
    payload: strict({
      ...fact,
      failedPathCount: Count('Paths on the list now; 0 if all have been copied'),
      added: Count('Paths added since the last event of this kind'),
      addedByClass: record(Count('Paths'), failureClassNames.length, 'Added paths by failureClass'),
      lastFailureId: Count('Highest reported id; pass it as `after` to failures to get later ones'),
      failedPaths: list(FailedPath, maxToldFailures),
    }),
  },
  progressed: {
    summary:
      'The progress of a migration changed; at most once per second, and once more when it stops changing',
    ephemeral: true,
    payload: Info,
  },
  deleted: { summary: 'A migration was deleted', payload: strict(fact) },
})
