import { expect, test } from 'vitest'
import { noCounts } from '../../../../services/engine/run/counts.ts'
import type { MigrationRecord } from '../../../../services/migrations/lifecycle/record.ts'
import { progressOf } from '../../../../services/migrations/reporting/view.ts'
import { migrationRecord } from '../../../support/migration-records.ts'

const at = (time: string) => `2026-02-01T${time}:00.000Z`
const states = (...entered: (readonly [state: MigrationRecord['state'], time: string])[]) =>
  entered.map(([state, time]) => ({ state, since: at(time) }))

const begun = [
  ['SCHEDULED', '09:00'],
  ['RUNNING', '10:00'],
] as const
const scans: [string, Partial<MigrationRecord>, number][] = [
  [
    'a stop',
    {
      completed: at('14:00'),
      states: states(
        ...begun,
        ['STOPPING', '10:20'],
        ['STOPPED', '10:30'],
        ['SCHEDULED', '13:00'],
        ['RUNNING', '13:10'],
        ['COMPLETED', '14:00'],
      ),
    },
    80,
  ],
  [
    'an earlier completion',
    {
      completed: at('18:05'),
      states: states(
        ...begun,
        ['COMPLETED', '10:10'],
        ['SCHEDULED', '18:00'],
        ['RUNNING', '18:00'],
        ['COMPLETED', '18:05'],
      ),
    },
    15,
  ],
  [
    'a wait for one of a higher priority',
    {
      completed: at('12:05'),
      states: states(...begun, ['SCHEDULED', '10:10'], ['RUNNING', '12:00'], ['COMPLETED', '12:05']),
    },
    15,
  ],
  [
    'a clock that was put back',
    {
      completed: at('11:00'),
      states: states(
        ...begun,
        ['STOPPED', '15:00'],
        ['SCHEDULED', '10:30'],
        ['RUNNING', '10:30'],
        ['COMPLETED', '11:00'],
      ),
    },
    60,
  ],
]

test.for(scans)('the time of %s is no running time', ([, of, minutes]) => {
  const record = migrationRecord({ state: 'COMPLETED', started: at('10:00'), ...of })
  const { progress } = progressOf({
    record,
    counts: noCounts(),
    underWay: { files: 0, bytes: 0 },
    failed: 0,
    changes: undefined,
    conditions: [],
  })
  expect(progress.duration.inSeconds).toBe(minutes * 60)
})
