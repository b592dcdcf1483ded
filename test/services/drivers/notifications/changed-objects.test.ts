import { expect, test } from 'vitest'
import { foldersOf } from '../../../../services/drivers/notifications/changed-objects.ts'

test('a folder that came with all that is below it is looked through, those above it by name', () => {
  const folders = foldersOf('root', [{ key: 'root/a/b', isTree: true, sinceMs: 5 }])
  expect(folders).toEqual([
    { folder: '', names: ['a'], trees: [], scope: 'names', sinceMs: 5 },
    { folder: 'a', names: [], trees: ['b'], scope: 'names', sinceMs: 5 },
  ])
})

test('where the root, or what it is in, came or went, all is compared by content', () => {
  for (const [root, key] of [
    ['x/root', 'x/root'],
    ['x/root', 'x'],
    ['x/root', ''],
    ['', ''],
  ] as const)
    expect(foldersOf(root, [{ key, isTree: true, sinceMs: 5 }])).toMatchObject([
      { folder: '', scope: 'content', sinceMs: 5 },
    ])
  expect(foldersOf('x/root', [{ key: 'x/roo', isTree: true, sinceMs: 5 }])).toEqual([])
})
