import { useMediaQuery } from '@mantine/hooks'
import { type KeyboardEvent, type PointerEvent, useState } from 'react'
import {
  type BandwidthSchedule,
  unlimited,
  type Weekday,
  weekdays,
} from '../../../subjects/migrations/bandwidth.ts'

const hoursInDay = 24
const hoursOfDay = Array.from({ length: hoursInDay }, (_, hour) => hour)
/** As `.week` in the style sheet has it. */
const narrow = '(max-width: 48em)'
const bytesOfMib = 1_024 ** 2
const usualMib = 10

/** Hours of a week, as `MON 8`, and what holds in them. */
export interface Painted {
  readonly hours: ReadonlySet<string>
  readonly mibPerSecond: number
}

const hourOf = (day: Weekday, hour: number) => `${day} ${hour}`

/** The hours between two corners, whichever of them comes first. */
export function hoursBetween(one: string, other: string): readonly string[] {
  const corners = [one, other].map((hour) => hour.split(' ') as [Weekday, string])
  const days = corners.map(([day]) => weekdays.indexOf(day))
  const times = corners.map(([, hour]) => Number(hour))
  const between = (all: readonly number[], at: number) => at >= Math.min(...all) && at <= Math.max(...all)
  return weekdays
    .filter((_, at) => between(days, at))
    .flatMap((day) => hoursOfDay.filter((hour) => between(times, hour)).map((hour) => hourOf(day, hour)))
}

/** The same hours, with some of them painted or cleared. */
function withHours(hours: ReadonlySet<string>, changed: readonly string[], isPainted: boolean) {
  if (isPainted) return new Set([...hours, ...changed])
  return new Set([...hours].filter((hour) => !changed.includes(hour)))
}

interface Brush {
  /** Whether what the pointer goes over is painted or cleared. */
  readonly isPainted: boolean
  readonly from: string
  /** What was painted before, as a rectangle that becomes smaller gives back what it had taken. */
  readonly before: ReadonlySet<string>
}
const clock = (hour: number) => `${String(hour).padStart(2, '0')}:00`

/** The hours that a schedule has, as far as it is one of whole hours with one limit. */
export function paintedOf(schedule: BandwidthSchedule | undefined): Painted {
  const hours = new Set<string>()
  for (const { days = weekdays, from, to } of schedule?.windows ?? []) {
    const [begin, end] = [Number.parseInt(from, 10), Number.parseInt(to, 10)]
    for (const day of days) {
      for (let hour = begin; hour < (end > begin ? end : hoursInDay); hour++) hours.add(hourOf(day, hour))
      const next = weekdays[(weekdays.indexOf(day) + 1) % weekdays.length]!
      if (end <= begin) for (let hour = 0; hour < end; hour++) hours.add(hourOf(next, hour))
    }
  }
  const limit = schedule?.windows[0]?.limitBytesPerSecond ?? unlimited
  return { hours, mibPerSecond: limit === unlimited ? usualMib : Math.max(1, Math.round(limit / bytesOfMib)) }
}

/** Windows of the painted hours: days that are painted alike have theirs together. */
export function scheduleOf({ hours, mibPerSecond }: Painted, timeZone: string): BandwidthSchedule {
  const byTimes = new Map<string, Weekday[]>()
  for (const day of weekdays) {
    for (let from = 0; from < hoursInDay; from++) {
      if (!hours.has(hourOf(day, from)) || hours.has(hourOf(day, from - 1))) continue
      let to = from
      while (hours.has(hourOf(day, to))) to++
      const times = `${clock(from)} ${clock(to)}`
      byTimes.set(times, [...(byTimes.get(times) ?? []), day])
    }
  }
  return {
    timeZone,
    windows: [...byTimes].map(([times, days]) => {
      const [from, to] = times.split(' ') as [string, string]
      return { days, from, to, limitBytesPerSecond: mibPerSecond * bytesOfMib }
    }),
  }
}

/** To the right and down. */
const steps: Readonly<Record<string, readonly [right: number, down: number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
}

/** A week that one paints with the pointer, or with the arrow keys and Space. */
export function TimeTable({
  hours,
  onChange,
}: {
  readonly hours: ReadonlySet<string>
  readonly onChange: (hours: ReadonlySet<string>) => void
}) {
  const [brush, setBrush] = useState<Brush>()
  const [current, setCurrent] = useState(hourOf(weekdays[0], 0))
  const toggle = (changed: readonly string[]) =>
    onChange(withHours(hours, changed, !changed.every((hour) => hours.has(hour))))
  const begin = (event: PointerEvent<HTMLButtonElement>, hour: string) => {
    event.currentTarget.releasePointerCapture(event.pointerId)
    setBrush({ isPainted: !hours.has(hour), from: hour, before: hours })
    toggle([hour])
  }
  // A day is a row; on a telephone, where that is too wide, an hour is.
  const isNarrow = useMediaQuery(narrow, undefined, { getInitialValueInEffect: false })
  const go = (event: KeyboardEvent<HTMLButtonElement>, day: Weekday, hour: number) => {
    const [right, down] = steps[event.key] ?? [0, 0]
    const [hours, days] = isNarrow ? [down, right] : [right, down]
    const nextDay = weekdays[weekdays.indexOf(day) + days] ?? day
    const next = hourOf(nextDay, Math.min(Math.max(0, hour + hours), hoursInDay - 1))
    setCurrent(next)
    event.currentTarget.closest('table')?.querySelector<HTMLElement>(`[data-hour="${next}"]`)?.focus()
  }
  const cell = (day: Weekday, hour: number) => {
    const id = hourOf(day, hour)
    return (
      <td key={id}>
        <button
          type="button"
          data-hour={id}
          // One place of the whole table is where Tab leads to; from there the arrows go on.
          tabIndex={id === current ? 0 : -1}
          onFocus={() => setCurrent(id)}
          aria-label={`${day} ${clock(hour)}`}
          aria-pressed={hours.has(id)}
          onPointerDown={(event) => begin(event, id)}
          onPointerEnter={() =>
            brush && onChange(withHours(brush.before, hoursBetween(brush.from, id), brush.isPainted))
          }
          onKeyDown={(event) => {
            const paints = event.key === ' ' || event.key === 'Enter'
            if (!paints && steps[event.key] === undefined) return
            event.preventDefault()
            if (paints) toggle([id])
            else go(event, day, hour)
          }}
        />
      </td>
    )
  }
  /** Paints its day or hour as a whole; with the keyboard, its hours are painted one by one. */
  const heading = (name: Weekday | number) => {
    const its =
      typeof name === 'number'
        ? weekdays.map((day) => hourOf(day, name))
        : hoursOfDay.map((hour) => hourOf(name, hour))
    return (
      <button
        type="button"
        tabIndex={-1}
        aria-label={typeof name === 'number' ? `${clock(name)} on all days` : `All of ${name}`}
        onClick={() => toggle(its)}
      >
        {name}
      </button>
    )
  }
  const [columns, rows] = isNarrow ? [weekdays, hoursOfDay] : [hoursOfDay, weekdays]
  return (
    <div className="week" onPointerUp={() => setBrush(undefined)} onPointerLeave={() => setBrush(undefined)}>
      <table aria-label="Hours of the week">
        <thead>
          <tr>
            <td />
            {columns.map((name) => (
              <th key={name} scope="col">
                {heading(name)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((name) => (
            <tr key={name}>
              <th scope="row">{heading(name)}</th>
              {typeof name === 'number'
                ? weekdays.map((day) => cell(day, name))
                : hoursOfDay.map((hour) => cell(name, hour))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
