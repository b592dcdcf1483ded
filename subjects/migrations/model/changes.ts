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
    description: `Live migrations: seconds from one comparison of source and target to the next, where the source does not tell of its changes (default ${defaultComparisonSeconds}), or notifications or reports tell of them (default ${defaultHealingSeconds}: it finds what one of those lost)`,
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
        'How changes at the source are found: its host tells of them (watching), the store sends notifications or keeps a feed of its changes (notified), others report them (reported), its snapshots are compared with each other (snapshots), source and target are compared from time to time (comparing), or they are not followed (off), such as while the migration is stopped',
    }),
  ),
  changeDetectionReason: Type.Optional(
    Text('By which way changes are told, or why they are not told at once'),
  ),
  changeLagSeconds: Type.Optional(
    Type.Number({
      minimum: 0,
      description:
        'Age of the oldest change that is not at the target yet. Where nobody knows of changes, as that could have: since the last comparison that is over began (comparing), or since the source was followed last (stopped, or broken off). Until the first scan is over: since it began',
    }),
  ),
  unscheduledEvents: Type.Optional(Count('Changes that are known and not in the queue yet')),
  scheduledEvents: Type.Optional(Count('Changes that are in the queue')),
}
