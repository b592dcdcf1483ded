import { expect, test } from 'vitest'
import { metadataFailure, metadataLagging } from '../../../services/alerts/metadata.ts'
import { metadataMigration } from '../../support/metadata-migrations.ts'

const failures = (more: Parameters<typeof metadataMigration>[0]) =>
  metadataFailure(metadataMigration(more)).map(({ summary }) =>
    summary.replace('metadata migration “lake” ', ''),
  )

test('a migration of metadata fails, does not get on, or has what did not arrive', () => {
  expect(failures({})).toEqual([])
  expect(failures({ state: 'FAILED', reason: 'no' })).toEqual(['has failed: no'])
  expect(failures({ phase: 'comparing', reason: 'away' })).toEqual(['is blocked: away'])
  expect(failures({ failed: 1, conflicts: 2, held: 1_000 })).toEqual([
    'has 1 failed object, 2 conflicts, 1000 drops waiting for approval',
  ])
  const completed = { state: 'COMPLETED', phase: undefined, failed: 2 } as const
  expect(failures(completed)).toEqual(['has 2 failed objects'])
  // What is compared is not over, and what was stopped somebody knows of.
  expect(failures({ phase: 'comparing', failed: 1 })).toEqual([])
  expect(failures({ state: 'STOPPED', phase: undefined, failed: 1 })).toEqual([])
})

test('it lags when it is behind by more than its threshold, and than a comparison takes to come', () => {
  const summaries = (more: Parameters<typeof metadataMigration>[0]) =>
    metadataLagging(metadataMigration(more), 600).map(({ summary }) => summary)
  const told = 'a change of metadata migration “lake” has waited for 601 s'
  expect(summaries({ lagSeconds: 600 })).toEqual([])
  expect(summaries({ lagSeconds: 601 })).toEqual([told])
  expect(summaries({ lagSeconds: 601, phase: 'comparing' })).toEqual([])
  const compared = { changeDetection: 'comparison', comparisonPeriodSeconds: 60 } as const
  expect(summaries({ ...compared, lagSeconds: 660 })).toEqual([])
  const unknown =
    'changes of the last 661 s at the source of metadata migration “lake” may not be at its target'
  expect(summaries({ ...compared, lagSeconds: 661 })).toEqual([unknown])
  // The usual five minutes.
  expect(summaries({ changeDetection: 'comparison', lagSeconds: 900 })).toEqual([])
  expect(summaries({ changeDetection: 'comparison', lagSeconds: 901 })).toHaveLength(1)
})
