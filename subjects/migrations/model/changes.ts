import { Type } from 'typebox'
import { Count, Text } from '../../kit/schemas.ts'

/** The longest period between two comparisons: a day. */
const maxComparisonSeconds = 86_400

/** How often everything is compared where nothing tells of changes, from start to start. */
export const defaultComparisonSeconds = 60

/** An option of live migrations. */
export const comparisonPeriodSeconds = Type.Optional(
  Type.Integer({
    minimum: 1,
    maximum: maxComparisonSeconds,
    description: `Live migrations: seconds from one comparison of source and target to the next, where the source does not tell of its changes; default ${defaultComparisonSeconds}`,
  }),
)

/** How changes at the source are found. */
export const changeDetections = ['watching', 'comparing', 'off'] as const

/** What a live migration says of the changes at its source. */
export const changeFigures = {
  changeDetection: Type.Optional(
    Type.Enum(changeDetections, {
      description:
        'How changes at the source are found: it tells of them, it is compared with the target from time to time, or they are not followed, such as while the migration is stopped',
    }),
  ),
  changeDetectionReason: Type.Optional(Text('Why changes are not told at once')),
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
