import type { Static } from 'typebox'
import type { MigrationRecord } from '../../../../subjects/migrations/model/figures.ts'
import { publicChanges } from '../view.ts'
import type { WithFigures } from '../../progress/with-figures.ts'
import { wireStats } from '../../progress/wire.ts'

/** What a migration has done so far. */
export const statsNow = ({
  record: { migrationId },
  counts,
  changes,
}: WithFigures): Static<typeof MigrationRecord> => ({
  migrationId,
  timeStamp: Date.now(),
  migrationStats: wireStats(counts),
  ...publicChanges(changes),
})
