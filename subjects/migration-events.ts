import { Type } from 'typebox'
import { events } from './contract.ts'
import { migrationStates } from './migration-model.ts'
import { Count, Name, strict, Uuid } from './schemas.ts'

const migrationId = Name('Name of the migration')
const internalId = Uuid('Another migration of the same name has another')

const fact = { migrationId, internalId, state: Type.Enum(migrationStates) }

export const migrationEvents = events('migrations', {
  created: { summary: 'A migration was defined', payload: strict(fact) },
  started: { summary: 'A migration began or goes on', payload: strict(fact) },
  stopped: { summary: 'A migration was stopped', payload: strict(fact) },
  completed: {
    summary: 'A migration has nothing left to do',
    payload: strict({ ...fact, failedPathCount: Count('Paths that did not arrive') }),
  },
  deleted: { summary: 'A migration was forgotten', payload: strict(fact) },
})
