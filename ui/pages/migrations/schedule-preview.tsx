import { Text } from '@mantine/core'
import { Cron } from 'croner'
import { defaultTimeZone } from '../../../subjects/migrations/model/recurrence.ts'
import { localTime } from '../../kit/format.ts'

/** Enough to see what a schedule means. */
const shownTimes = 3

/** The next times of a cron schedule, so that a mistake in it is seen before it is saved. */
export function SchedulePreview({
  schedule = '',
  timeZone = defaultTimeZone,
}: {
  readonly schedule: string | undefined
  readonly timeZone: string | undefined
}) {
  if (schedule.trim() === '') return null
  return (
    <Text size="sm" mt={4} role="status">
      {textOf(schedule, timeZone)}
    </Text>
  )
}

function textOf(schedule: string, timeZone: string): string {
  try {
    const times = new Cron(schedule, { timezone: timeZone }).nextRuns(shownTimes)
    if (times.length === 0) return 'This schedule has no start times in the future.'
    const texts = times.map((time) => localTime(time.toISOString()))
    return `Next scans in your time zone: ${texts.join('; ')}`
  } catch {
    return 'This is not a complete cron expression yet. Example: 30 2 * * 1-5 is 02:30 from Monday to Friday.'
  }
}
