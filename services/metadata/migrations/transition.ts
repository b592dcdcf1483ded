import type { Collection } from '../../../broker/state/collection.ts'
import { emission, type Emission } from '../../../broker/state/events.ts'
import { isGantryError } from '../../../subjects/kit/errors.ts'
import { type MetadataState, metadataMigrationEvents } from '../../../subjects/metadata/migrations.ts'
import { move } from '../../kit/transition.ts'
import { factOf, type MetadataMigrationRecord } from './record.ts'
import { type MetadataCommand, next, requireNext } from './states.ts'

type Records = Collection<typeof MetadataMigrationRecord>
/** What else changes with the state; `undefined`: nothing, the state neither. Pure: it may run several times. */
type Change = (current: MetadataMigrationRecord) => MetadataMigrationRecord | undefined

/** Does what somebody asks for, and tells of it. @throws GantryError NOT_ALLOWED_IN_STATE, NOT_FOUND */
export async function command(
  records: Records,
  name: string,
  trigger: Exclude<MetadataCommand, 'delete'>,
  change: Change,
): Promise<MetadataMigrationRecord> {
  const to = ({ state }: MetadataMigrationRecord) => requireNext(name, state, trigger)
  return (await move(records, name, to, change, factsOf)).record
}

/** Changes the record as something that happened says, and tells of it; resolves to whether it did. */
export async function happened(
  records: Records,
  name: string,
  trigger: 'completed' | 'failed',
  change: Change,
): Promise<boolean> {
  const to = ({ state }: MetadataMigrationRecord) => next(state, trigger)
  try {
    return (await move(records, name, to, change, factsOf)).happened
  } catch (error) {
    if (isGantryError(error, 'NOT_FOUND')) return false
    throw error
  }
}

const factsOf = (changed: MetadataMigrationRecord, previous: MetadataState): readonly Emission[] => [
  emission(metadataMigrationEvents.changed, changed.migrationName, {
    ...factOf(changed),
    previous,
    ...(changed.state === 'FAILED' && changed.reason !== undefined && { reason: changed.reason }),
  }),
]
