import { expect, test } from 'vitest'
import { type Difference, foldersOf } from '../../../../services/drivers/hdfs/snapshots.ts'

const found = (differences: readonly Difference[], below = '') =>
  foldersOf(differences, below, 5).map(({ folder, names, trees, scope }) => ({ folder, names, trees, scope }))

test('what is made, changed, removed and renamed is looked at under its name, what is new with all that is in it', () => {
  const differences: Difference[] = [
    { type: 'MODIFY', path: '' },
    { type: 'MODIFY', path: 'a' },
    { type: 'CREATE', path: 'a/new' },
    { type: 'MODIFY', path: 'a/changed' },
    { type: 'DELETE', path: 'gone' },
    { type: 'RENAME', path: 'a/old', to: 'b/moved' },
  ]
  expect(found(differences)).toEqual([
    { folder: '', names: ['a', 'gone'], trees: [], scope: 'names' },
    { folder: 'a', names: ['changed', 'old'], trees: ['new'], scope: 'names' },
    { folder: 'b', names: [], trees: ['moved'], scope: 'names' },
  ])
})

test('only what is below the folder counts; where that, or one above it, was replaced, all of its content does', () => {
  const differences: Difference[] = [
    { type: 'MODIFY', path: 'lake' },
    { type: 'MODIFY', path: 'lake/data' },
    { type: 'CREATE', path: 'lake/database' },
    { type: 'RENAME', path: 'lake/data/file', to: 'elsewhere/file' },
    { type: 'RENAME', path: 'elsewhere/other', to: 'lake/data/other' },
  ]
  expect(found(differences, 'lake/data')).toEqual([
    { folder: '', names: ['file'], trees: ['other'], scope: 'names' },
  ])
  for (const path of ['lake', 'lake/data'])
    expect(found([{ type: 'CREATE', path }], 'lake/data')).toEqual([
      { folder: '', names: [], trees: [], scope: 'content' },
    ])
})
