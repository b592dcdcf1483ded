import { Type } from 'typebox'
import { Count, Text } from '../../kit/schemas.ts'

/** The longest period between two comparisons: a day. */
const maxComparisonSeconds = 86_400

/** How often everything is compared where nothing tells of changes, from start to start. */
export const defaultComparisonSeconds = 60

/** How often everything is compared where notifications tell of changes: what one of those lost is found by it. */
export const defaultHealingSeconds = 86_400

/** An option of live migrations. */
export const comparisonPeriodSeconds = Type.Optional(
  Type.Integer({
    minimum: 1,
    maximum: maxComparisonSeconds,
    description: `Live migrations: seconds between comparisons of source and target. Default ${defaultComparisonSeconds} where the source does not report changes; ${defaultHealingSeconds} where notifications do, to find what they missed`,
  }),
)

/** How changes at the source are found. */
export const changeDetections = ['watching', 'notified', 'reported', 'snapshots', 'comparing', 'off'] as const

/** Whether the source tells of its changes: the lag is the age of one that is known then. */
export const isTold = (detection: (typeof changeDetections)[number] | undefined): boolean =>
  detection !== undefined && detection !== 'comparing' && detection !== 'off'

/** What a live migration says of the changes at its source. */
export const changeFigures = {
  changeDetection: Type.Optional(
    Type.Enum(changeDetections, {
      description:
        'How changes at the source are found. watching: by the host of the source; notified: by notifications or a change feed of the store; reported: by reports of others; snapshots: by comparing snapshots; comparing: by comparing source and target at intervals; off: they are not followed, for example while the migration is stopped',
    }),
  ),
  changeDetectionReason: Type.Optional(
    Text('How changes are detected, or why they are not detected immediately'),
  ),
  changeLagSeconds: Type.Optional(
    Type.Number({
      minimum: 0,
      description:
        'Age of the oldest change that is not at the target yet. Where changes are unknown: the time since the start of the last completed comparison (comparing), or since the source was last followed (stopped or failed). Until the first scan is complete: the time since it began',
    }),
  ),
  unscheduledEvents: Type.Optional(Count('Known changes that are not queued yet')),
  scheduledEvents: Type.Optional(Count('Queued changes')),
}
