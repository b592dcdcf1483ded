import { expect, test } from 'vitest'
import type { Rule } from '../../../../subjects/migrations/model/rules.ts'
import { pathFromText } from '../../../../services/drivers/paths/path-text.ts'
import { excludedFailures } from '../../../../services/migrations/failures/excluded-failures.ts'
import { exclusionsOf } from '../../../../services/migrations/rules/excluded.ts'
import { normalRule } from '../../../../services/migrations/rules/normal.ts'

const rule = (fields: Partial<Rule>): Rule => normalRule({ id: 'one', ...fields } as Rule)
const txt = rule({ type: 'regex', regex: '**.txt', patternType: 'GLOB' })
const place = rule({ type: 'paths', paths: ['/root/a'] })
const large = rule({ type: 'fileSize', value: 0, unit: 'B' })

function excludedBy(lists: { exclusions?: Rule[]; inclusions?: Rule[] }, ...paths: string[]): string[] {
  const isExcluded = exclusionsOf({ exclusions: [], inclusions: [], ...lists }, { path: '/root' })
  return paths.filter((path) => isExcluded({ path: pathFromText(path), isFolder: false }))
}

test('a path is excluded by its own name and by that of a folder above it, below the folder of the migration', () => {
  const paths = ['/root/a', '/root/a/b', '/root/ab', '/root/c/d.txt', '/root/c/d']
  expect(excludedBy({ exclusions: [txt, place] }, ...paths)).toEqual([
    '/root/a',
    '/root/a/b',
    '/root/c/d.txt',
  ])
  const root = rule({ type: 'paths', paths: ['/root'] })
  expect(excludedBy({ exclusions: [root] }, ...paths)).toEqual([])
})

test('what no inclusion takes is excluded, unless size or time decide that', () => {
  const paths = ['/root/a/b', '/root/c']
  expect(excludedBy({ inclusions: [place] }, ...paths)).toEqual(['/root/c'])
  expect(excludedBy({ inclusions: [place, large] }, ...paths)).toEqual([])
  expect(excludedBy({ exclusions: [large] }, ...paths)).toEqual([])
})

test('a path that alone would keep others waiting is not judged', () => {
  const regex = `.*\\.txt|${'[a-z]{1,20}/'.repeat(40)}.*\\.txt`
  const costly = rule({ type: 'regex', regex, patternType: 'JAVA_PCRE' })
  const deep = `/root/${'folder/'.repeat(300)}file.txt`
  expect(excludedBy({ exclusions: [costly] }, '/root/folder/file.txt', deep)).toEqual([
    '/root/folder/file.txt',
  ])
})

test('what may be a folder on the way to something that is included is not excluded, whatever failed of it', async () => {
  const deep = rule({ type: 'paths', paths: ['/root/a/b'] })
  const failed = { failure: 'permission', message: '', attempts: 1, timeMs: 0 } as const
  const page = [
    { sequence: 1, entry: { ...failed, path: '/root/a', isTree: true } as const },
    { sequence: 2, entry: { ...failed, path: '/root/a' } },
    { sequence: 3, entry: { ...failed, path: '/root/a', foundBytes: 0 } },
    { sequence: 4, entry: { ...failed, path: '/root/c', isTree: true } as const },
  ]
  const excluded = await excludedFailures({ exclusions: [], inclusions: [deep] }, { path: '/root' })(page)
  expect([...excluded]).toEqual([3, 4])
})
