import { useEffect, useState } from 'react'
import { migrations } from '../../../subjects/migrations/migrations.ts'
import type { MigrationState } from '../../../subjects/migrations/model/model.ts'
import { pollMs, useAnswer } from '../../data/calls.ts'
import { durationText, wordsOf } from '../../kit/format.ts'
import { Section } from '../../kit/page.tsx'
import { colourOf, Status } from '../../kit/status.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { timeColumn } from '../../kit/time-column.tsx'

interface Span {
  readonly state: MigrationState
  readonly since: string
  readonly seconds: number
  readonly isNow: boolean
}

function lengthOf({ state, seconds, isNow }: Span): string | undefined {
  // How long a migration has been over says nothing of it.
  if (isNow && state === 'COMPLETED') return undefined
  return `${durationText(seconds)}${isNow ? ' so far' : ''}`
}

const columns: readonly Column<Span>[] = [
  { label: 'State', cell: ({ state }) => <Status of={state} />, by: ({ state }) => state },
  timeColumn('Since', ({ since }) => since),
  {
    label: 'Duration',
    cell: (span) => lengthOf(span) ?? '–',
    by: ({ seconds }) => seconds,
  },
]

const textOf = (span: Span) =>
  [wordsOf(span.state), lengthOf(span)].filter((part) => part !== undefined).join(', ')

/** The states that a migration was in, one after the other; the bar shows how long each was beside the others. */
export function StateTimeline({ migrationId }: { readonly migrationId: string }) {
  const { data = [] } = useAnswer(migrations.states, { migrationId })
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), pollMs)
    return () => clearInterval(timer)
  }, [])
  if (data.length === 0) return null
  const spans = data.map(({ state, since }, index) => {
    const next = data[index + 1]
    const endMs = next === undefined ? now : Date.parse(next.since)
    return {
      state,
      since,
      seconds: Math.max(0, endMs - Date.parse(since)) / 1_000,
      isNow: next === undefined,
    }
  })
  return (
    <Section title="States over time">
      <ol className="timeline" aria-label="States over time, oldest first">
        {spans.map((span) => (
          <li
            key={`${span.since} ${span.state}`}
            title={textOf(span)}
            style={{
              flexGrow: lengthOf(span) === undefined ? 0 : span.seconds,
              background: `var(--mantine-color-${colourOf(span.state)}-light)`,
              borderColor: `var(--mantine-color-${colourOf(span.state)}-filled)`,
            }}
          >
            <span>{textOf(span)}</span>
          </li>
        ))}
      </ol>
      <details>
        <summary>All changes of state</summary>
        <Table
          label="Changes of state"
          rows={spans.toReversed()}
          columns={columns}
          idOf={({ state, since }) => `${since} ${state}`}
        />
      </details>
    </Section>
  )
}
