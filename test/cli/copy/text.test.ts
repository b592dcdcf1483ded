import { expect, test } from 'vitest'
import { noFilesText, notKeptText, planText, unmatchedText } from '../../../cli/copy/text.ts'
import { planCounts, planActionNames } from '../../../subjects/migrations/model/plan-terms.ts'

const none = Object.fromEntries(Object.keys(planCounts).map((name) => [name, 0])) as Record<
  keyof typeof planCounts,
  number
>
const plan = {
  planId: '0b6cfc1a-9d3f-4a51-8d24-5c8e1f3f9f10',
  migrationId: 'copy-a',
  internalId: '0b6cfc1a-9d3f-4a51-8d24-5c8e1f3f9f11',
  status: 'COMPLETE' as const,
  startedAt: '2026-01-01T00:00:00.000Z',
  deletionsNeedApproval: false,
  samples: [],
  excludedByRule: [],
  ...none,
} satisfies Parameters<typeof planText>[0]

test('a plan tells what cannot be copied and what cannot be read, and what lists them', () => {
  expect(planActionNames).toContain('UNREADABLE')
  expect(planText({ ...plan, filesToCopy: 2, bytesToCopy: 3, pathsRefused: 1, unreadablePaths: 2_000 })).toBe(
    'Plan: copy 2 files (3 B), 1 cannot be copied, 2,000 paths cannot be read; list them with "gantry migrations plan copy-a".',
  )
  expect(planText({ ...plan, unreadablePaths: 1 })).toBe(
    'Plan: copy 0 files (0 B), 1 path cannot be read; list it with "gantry migrations plan copy-a".',
  )
  expect(planText({ ...plan, filesToCopy: 1, bytesToCopy: 3 })).toBe('Plan: copy 1 file (3 B).')
  expect(planText({ ...plan, filesToCompare: 300, bytesToCompare: 5, filesToSkip: 2 })).toBe(
    'Plan: copy 0 files (0 B), compare the content of 300 files (5 B), skip 2 files already at the target.',
  )
  const warning = 'needs 3 B, but /to has 2 B free'
  expect(planText({ ...plan, filesToCopy: 1, bytesToCopy: 3, warning })).toBe(
    'Plan: copy 1 file (3 B).\nWarning: the copy needs 3 B, but /to has 2 B free.',
  )
})

test('owners that were lost are told with their number and the command that lists them', () => {
  const kept = { times: 0, modes: 0, owners: 0, attributes: 0, links: 0, hardLinks: 0 }
  const text = (notKept: Partial<typeof kept>) =>
    notKeptText({ migrationId: 'copy-a', notKept: { ...kept, ...notKept } })
  expect(text({})).toBeUndefined()
  expect(text({ owners: 3, hardLinks: 2 })).toBe(
    'Not kept at the target by this run: the owners of 3 paths (only root can change owners, and not every target keeps them), the hard links of 2 files, each of which is a file of its own now; list the paths with "gantry verifications create copy-a --level metadata" and "gantry verifications report <id>".',
  )
})

test('a source is empty where a plan found no file in it; where rules leave out all of it, that is told', () => {
  const told = 'The source /data has no files: check its path.'
  expect(noFilesText('/data', plan)).toBe(told)
  expect(noFilesText('/data', { ...plan, foldersToMake: 1, pathsKept: 2, entriesAtTarget: 2 })).toBe(told)
  for (const count of [
    'filesToCopy',
    'filesToReplace',
    'filesToCompare',
    'filesToSkip',
    'pathsRefused',
    'unreadablePaths',
  ] as const)
    expect(noFilesText('/data', { ...plan, [count]: 1, filesExcluded: 1 }), count).toBeUndefined()
  for (const count of ['filesExcluded', 'foldersExcluded'] as const)
    expect(noFilesText('/data', { ...plan, [count]: 1 }), count).toBe(
      'The rules leave out everything that the source /data has: check --exclude and --include.',
    )
})

test('a plan says how much rules leave out', () => {
  const excluding = { ...plan, filesExcluded: 2, bytesExcluded: 10, foldersExcluded: 1 }
  expect(planText(excluding)).toBe(
    'Plan: copy 0 files (0 B), leave out 2 files (10 B) and 1 folder by rules.',
  )
})

test('globs that leave out nothing are told, among others that do', () => {
  const counted = [
    { id: 'a', files: 1, folders: 0 },
    { id: 'b', files: 0, folders: 0 },
    { id: 'c', files: 0, folders: 2 },
  ]
  const told = (ids: readonly string[], more: Partial<typeof plan> = {}) =>
    unmatchedText(
      ids.map((id) => ({ id, option: `--exclude ${id}` })),
      { ...plan, excludedByRule: counted, filesExcluded: 1, foldersExcluded: 2, ...more },
    )
  expect(told(['a', 'c'])).toBeUndefined()
  expect(told(['a', 'b', 'c', 'd'])).toBe(
    'Nothing matches --exclude b, --exclude d, or only paths that other rules leave out: give globs of paths from SOURCE on, such as /logs/** or *.tmp.',
  )
  const nothing = { excludedByRule: [], filesExcluded: 0, foldersExcluded: 0 }
  expect(told(['b'], nothing)).toBe(
    'Nothing matches --exclude b: give globs of paths from SOURCE on, such as /logs/** or *.tmp.',
  )
})
