import { Text } from '@mantine/core'
import { Cron } from 'croner'
import { defaultTimeZone } from '../../../subjects/migrations/model/recurrence.ts'
import { localTime } from '../../kit/format.ts'

interface Schedule {
  readonly recurringSchedule?: string
  readonly recurringTimeZone?: string
}

/** Enough to see what a schedule means. */
const shownTimes = 3

/** The next times of a cron schedule; undefined for what is none. */
function timesOf({
  recurringSchedule = '',
  recurringTimeZone = defaultTimeZone,
}: Schedule): readonly Date[] | undefined {
  try {
    return new Cron(recurringSchedule, { timezone: recurringTimeZone }).nextRuns(shownTimes)
  } catch {
    return undefined
  }
}

/** Whether it is said when scans repeat. */
export const repeats = ({
  recurringPeriod = '',
  ...schedule
}: Schedule & { readonly recurringPeriod?: number | string }): boolean =>
  String(recurringPeriod).trim() !== '' || !isEmpty(schedule)

const isEmpty = ({ recurringSchedule = '' }: Schedule): boolean => recurringSchedule.trim() === ''

/** Whether there is no schedule, or one that comes. */
export const isSchedule = (schedule: Schedule): boolean =>
  isEmpty(schedule) || (timesOf(schedule)?.length ?? 0) > 0

/** What a schedule means, so that a mistake in it is seen before it is saved. */
export const SchedulePreview = ({ schedule }: { readonly schedule: Schedule }) => (
  <Text size="sm" mt="sm" role="status">
    {textOf(schedule)}
  </Text>
)

function textOf(schedule: Schedule): string {
  const first = 'The first scan starts when you start the migration.'
  if (isEmpty(schedule))
    return `${first} The next ones start after the period; with 0, each starts when the last is done.`
  const times = timesOf(schedule)
  if (times === undefined)
    return 'This is not a complete cron expression yet. Example: 30 2 * * 1-5 is 02:30 from Monday to Friday.'
  if (times.length === 0) return 'This schedule has no start times in the future.'
  return `${first} Next scans in your time zone: ${times.map((time) => localTime(time.toISOString())).join('; ')}`
}
