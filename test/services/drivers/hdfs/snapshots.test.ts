import { expect, test } from 'vitest'
import {
  type Difference,
  againIn,
  foldersOf,
  mayComeAgain,
  renamedIn,
} from '../../../../services/drivers/hdfs/snapshots.ts'

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

test('what is renamed within a folder is told as such, what is above first; into it and out of it are two other things', () => {
  const differences = [
    { type: 'RENAME', path: 'data/a/b', to: 'data/deep/er' },
    { type: 'RENAME', path: 'data/a', to: 'data/z' },
    { type: 'RENAME', path: 'data/c', to: 'elsewhere' },
    { type: 'RENAME', path: 'from', to: 'data/d' },
    { type: 'RENAME', path: 'data', to: 'data 2' },
    { type: 'CREATE', path: 'data/e' },
  ] as const
  expect(renamedIn(differences, 'data')).toEqual([
    { from: 'a', to: 'z' },
    { from: 'a/b', to: 'deep/er' },
  ])
  expect(renamedIn(differences, '')).toHaveLength(5)
})

test('what got its name once it was written was not renamed: the target has nothing of it', () => {
  const differences = [
    { type: 'RENAME', path: 'd/.gantry~m~0123abcd.1.0123456789ab.0~1', to: 'd/a' },
    { type: 'RENAME', path: '.gantry~m~0123abcd.1.0123456789ab.0~2/part', to: 'b' },
    { type: 'RENAME', path: 'c._COPYING_', to: 'c' },
    { type: 'RENAME', path: 'e', to: 'f' },
  ] as const
  expect(renamedIn(differences, '')).toEqual([{ from: 'e', to: 'f' }])
})

test('under what had gone, and in what had come, is looked again, without reading it', () => {
  const differences = [
    { type: 'DELETE', path: 'data/gone' },
    { type: 'CREATE', path: 'data/a/new' },
    { type: 'RENAME', path: 'data/old', to: 'data/a/moved' },
    { type: 'MODIFY', path: 'data/changed' },
    { type: 'DELETE', path: 'elsewhere' },
  ] as const
  const again = againIn(differences, 'data', 5).map(({ folder, names, scope }) => [folder, names, scope])
  expect(again).toEqual([
    ['', ['gone', 'old'], 'names'],
    ['a', ['new', 'moved'], 'names'],
    ['a/new', [], 'tree'],
    ['a/moved', [], 'tree'],
  ])
  expect(mayComeAgain(differences)).toBe(true)
  expect(mayComeAgain([{ type: 'MODIFY', path: 'data' }])).toBe(false)
  expect(mayComeAgain(Array.from({ length: 1_001 }, () => differences[0]))).toBe(false)
})
