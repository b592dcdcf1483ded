import { expect, test } from 'vitest'
import { lagging } from '../../../services/alerts/lagging.ts'
import type { MigrationState } from '../../../subjects/migrations/model/model.ts'

const summaries = (
  changeDetection: 'watching' | 'comparing' | 'off',
  changeLagSeconds: number,
  comparisonPeriodSeconds?: number,
  state: MigrationState = 'LIVE',
) => {
  const period = comparisonPeriodSeconds === undefined ? {} : { comparisonPeriodSeconds }
  return lagging({ migrationId: 'm', state, changeDetection, changeLagSeconds, ...period }, 600).map(
    ({ summary }) => summary,
  )
}

test('a migration lags when it is behind by more than its threshold, and than a comparison takes to come', () => {
  const waited = (seconds: number) => `a change of migration “m” has waited for ${seconds} s`
  const unknown = (seconds: number) =>
    `changes of the last ${seconds} s at the source of migration “m” may not be at its target`
  expect(summaries('watching', 600)).toEqual([])
  expect(summaries('watching', 601)).toEqual([waited(601)])
  // The usual minute.
  expect(summaries('comparing', 660)).toEqual([])
  expect(summaries('comparing', 661)).toEqual([unknown(661)])
  expect(summaries('comparing', 4_200, 3_600)).toEqual([])
  expect(summaries('comparing', 4_201, 3_600)).toEqual([unknown(4_201)])
  // Stopped.
  expect(summaries('off', 601, 3_600)).toEqual([unknown(601)])
  expect(lagging({ migrationId: 'once', state: 'RUNNING' }, 0)).toEqual([])
  // A scan is not behind for as long as it goes on.
  expect(summaries('watching', 4_201, undefined, 'RUNNING')).toEqual([])
  expect(summaries('comparing', 4_201, undefined, 'RUNNING')).toEqual([])
  expect(summaries('off', 601, undefined, 'RUNNING')).toEqual([unknown(601)])
})
