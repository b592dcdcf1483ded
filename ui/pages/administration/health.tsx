import { Text } from '@mantine/core'
import type { Output } from '../../../subjects/kit/contract.ts'
import { platform } from '../../../subjects/platform/platform.ts'
import { pollMs, useAnswer } from '../../data/calls.ts'
import { Action } from '../../kit/action.tsx'
import { Failure } from '../../kit/failure.tsx'
import { countText, durationText } from '../../kit/format.ts'
import { Components } from '../../kit/health.tsx'
import { Named } from '../../kit/named.tsx'
import { Page, Section } from '../../kit/page.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { timeColumn } from '../../kit/time-column.tsx'

type Task = Output<(typeof platform)['tasks']>[number]
type Loss = Output<(typeof platform)['losses']>[number]

const taskColumns: readonly Column<Task>[] = [
  {
    label: 'Task',
    cell: ({ name, summary }) => (
      <>
        <Named>{name}</Named>
        <Text size="xs">{summary}</Text>
      </>
    ),
    by: ({ name }) => name,
    width: 3,
  },
  { label: 'Runs on', cell: ({ owner }) => owner.replaceAll('-', ' '), by: ({ owner }) => owner },
  {
    label: 'Interval',
    cell: ({ everySeconds }) => (everySeconds === undefined ? '–' : durationText(everySeconds)),
    by: ({ everySeconds = 0 }) => everySeconds,
  },
  timeColumn('Last run', ({ lastRun }) => lastRun),
  { label: 'Runs', cell: ({ runs }) => countText(runs), by: ({ runs }) => runs },
  {
    label: 'Failures',
    cell: ({ failures, lastError }) => (
      <>
        {countText(failures)} {lastError !== undefined && <Named>{lastError}</Named>}
      </>
    ),
    by: ({ failures }) => failures,
  },
]

const lossColumns: readonly Column<Loss>[] = [
  { label: 'Location', cell: ({ store, id = '' }) => <Named>{`${store} ${id}`}</Named> },
  { label: 'Kind', cell: ({ kind }) => kind },
  timeColumn('Detected', ({ found }) => found),
]

export default function HealthPage() {
  const tasks = useAnswer(platform.tasks, {}, { everyMs: pollMs })
  const losses = useAnswer(platform.losses, {}, { everyMs: pollMs })
  return (
    <Page title="Health and tasks" contract={platform.tasks}>
      <Section title="Components">
        <Components />
      </Section>
      {losses.data !== undefined && losses.data.length > 0 && (
        <Section
          title="Damage to stored state"
          actions={
            <Action
              contract={platform['accept-losses']}
              input={{}}
              confirm={{
                name: 'damage',
                warning: 'Check the listed records first. Health no longer reports this damage.',
              }}
            >
              Accept
            </Action>
          }
        >
          <Table
            label="Damage"
            rows={losses.data}
            columns={lossColumns}
            idOf={({ store, id, kind }) => `${store} ${id ?? ''} ${kind}`}
          />
        </Section>
      )}
      <Section title="Background tasks">
        {tasks.error && <Failure title="Background tasks" error={tasks.error} />}
        <Table
          label="Background tasks"
          rows={tasks.data ?? []}
          columns={taskColumns}
          idOf={({ name }) => name}
          searchedIn={({ name, summary }) => [name, summary]}
        />
      </Section>
    </Page>
  )
}
