import { Type } from 'typebox'
import { conditions } from './model/conditions.ts'
import { events } from '../kit/contract.ts'
import { failureClassNames } from './model/failure-classes.ts'
import { FailedPath } from './failures.ts'
import { Info } from './model/figures.ts'
import { migrationStates } from './model/model.ts'
import { Count, list, Name, record, strict, Uuid } from '../kit/schemas.ts'

const migrationId = Name('Name of the migration')
const internalId = Uuid('Another migration of the same name has another')

const state = Type.Enum(migrationStates)
const fact = { migrationId, internalId, state }
const change = { ...fact, previous: Type.Enum(migrationStates, { description: 'State before' }) }

/** Enough to see what is wrong; one such event a second is kept for days. */
export const maxToldFailures = 5

/** Every change of a state is one of these, and each is told once; how far a migration is comes beside them. */
export const migrationEvents = events('migrations', {
  created: { summary: 'A migration was defined', payload: strict(fact) },
  updated: { summary: 'Priority, recurrence or movers of a migration were changed', payload: strict(fact) },
  scheduled: {
    summary:
      'A migration waits for its turn: it was started, its time has come, or a more urgent one took its place',
    payload: strict(change),
  },
  started: { summary: 'A migration began or goes on', payload: strict(change) },
  live: {
    summary: 'All that was there is copied; from now on changes are followed',
    payload: strict(change),
  },
  stopping: { summary: 'A migration is being stopped', payload: strict(change) },
  stopped: { summary: 'A migration was stopped', payload: strict(change) },
  waiting: { summary: 'A recurring migration is done until its next time', payload: strict(change) },
  completed: {
    summary: 'A migration has nothing left to do',
    payload: strict({ ...change, failedPathCount: Count('Paths that did not arrive') }),
  },
  reset: {
    summary: 'What a migration had done was forgotten; it begins from the start',
    payload: strict(change),
  },
  'region-added': { summary: 'A folder was asked to be scanned again', payload: strict(fact) },
  'work-lost': {
    summary:
      'The broker has lost work items of a migration, as its store was damaged: a live one is compared, any other is scanned from the start',
    payload: strict({
      ...fact,
      items: Type.Optional(Count('At least so many items; left out where nobody knows')),
    }),
  },
  'conditions-changed': {
    summary:
      'Something keeps a migration from moving, or from learning of changes at once, or no longer does',
    payload: strict({ ...fact, conditions }),
  },
  'failures-changed': {
    summary:
      'Paths came onto the list of what did not arrive, or left it; gathered, at most one a second for a migration',
    payload: strict({
      ...fact,
      failedPathCount: Count('Paths on the list now; 0 when all have arrived after all'),
      added: Count('Paths that came onto it since the last such event'),
      addedByClass: record(
        Count('Paths'),
        failureClassNames.length,
        'The same by the class of their reason, as in failureClass',
      ),
      lastFailureId: Count('Highest id that was told of: what comes later is in failures with it as after'),
      failedPaths: list(FailedPath, maxToldFailures),
    }),
  },
  progressed: {
    summary:
      'The figures of a migration have moved: at most once a second while they do, and once when they have come to rest',
    ephemeral: true,
    payload: Info,
  },
  deleted: { summary: 'A migration was forgotten', payload: strict(fact) },
})
