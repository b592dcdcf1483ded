import { expect, test } from 'vitest'
import { explainer } from '../../../../services/migrations/rules/explain.ts'
import type { FilesystemLook } from '../../../../subjects/filesystems/internal.ts'
import { GantryError } from '../../../../subjects/kit/errors.ts'
import type { Input } from '../../../../subjects/kit/contract.ts'
import type { exclusions as exclusionContracts } from '../../../../subjects/rules/exclusions.ts'
import type { Rule } from '../../../../subjects/migrations/model/rules.ts'
import { migrationRecord } from '../../../support/migration-records.ts'

const large: Rule = { id: 'large', type: 'fileSize', value: 1, unit: 'KB' }
const old: Rule = { id: 'old', type: 'date', beforeIsoDateTime: '2020-01-01T00:00:00Z' }
const temporary: Rule = { id: 'temporary', type: 'regex', regex: '*.tmp', patternType: 'GLOB' }

interface Store {
  readonly exclusions?: Rule[]
  readonly inclusions?: Rule[]
  readonly there?: FilesystemLook['entry']
  readonly problem?: GantryError
  /** Whether no migration is named. */
  readonly isAlone?: boolean
}

/** What a migration says of /file or another path, where the source has something or is away. */
async function explain(
  { exclusions = [], inclusions = [], there, problem, isAlone = false }: Store,
  asked: Partial<Input<(typeof exclusionContracts)['test']>> = {},
) {
  let looks = 0
  const known = {
    records: { get: () => Promise.resolve(migrationRecord()) },
    rules: {
      of: () => Promise.resolve({ exclusions, inclusions }),
      ofEveryone: () => Promise.resolve(exclusions),
    },
    refusalAt: () => Promise.resolve(undefined),
    lookAt: () => {
      looks++
      return problem === undefined
        ? Promise.resolve(there === undefined ? {} : { entry: there })
        : Promise.reject(problem)
    },
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it asks for no more
  const test = explainer(known as unknown as Parameters<typeof explainer>[0])
  const answer = await test({ ...(!isAlone && { migrationId: 'one' }), path: '/file', ...asked }, {} as never)
  const { decision, explanation, judgedAs } = answer
  return { decision, by: answer.exclusion?.id ?? answer.inclusion?.id, explanation, judgedAs, looks }
}

const file = (length: number, modified: string) => ({
  type: 'file' as const,
  length,
  modificationTime: Date.parse(modified),
})
const exclusions = [large, old]

test('a file that is there is judged by its own size and time', async () => {
  expect(await explain({ exclusions, there: file(2_000, '2026-01-01T00:00:00Z') })).toMatchObject({
    decision: 'EXCLUDED',
    by: 'large',
    judgedAs:
      'a file, at the source; 2000 bytes, at the source; changed 2026-01-01T00:00:00.000Z, at the source',
  })
  expect(await explain({ exclusions, there: file(10, '2019-01-01T00:00:00Z') })).toMatchObject({
    decision: 'EXCLUDED',
    by: 'old',
  })
  expect(await explain({ exclusions, there: file(10, '2026-01-01T00:00:00Z') })).toMatchObject({
    decision: 'MIGRATED',
    explanation: 'no exclusion matches the path',
  })
})

test('what is given comes first, and a folder that is there is no file', async () => {
  const there = file(2_000, '2026-01-01T00:00:00Z')
  expect(await explain({ exclusions, there }, { size: 3 })).toMatchObject({
    decision: 'MIGRATED',
    judgedAs: 'a file, at the source; 3 bytes, as given; changed 2026-01-01T00:00:00.000Z, at the source',
  })
  const all = { type: 'file', size: 3, modified: '2026-01-01T00:00:00Z' } as const
  expect(await explain({ exclusions, there }, all)).toMatchObject({ decision: 'MIGRATED', looks: 0 })
  const folder = { type: 'folder', length: 0, modificationTime: 0 } as const
  expect(await explain({ exclusions, there: folder })).toMatchObject({
    decision: 'MIGRATED',
    judgedAs: 'assumed to be a folder, at the source',
  })
})

test('a file without a time is there, and no rule that asks for one matches it', async () => {
  expect(await explain({ exclusions: [old], there: { type: 'file', length: 10 } })).toMatchObject({
    decision: 'MIGRATED',
    judgedAs: 'a file, at the source; 10 bytes, at the source; without a modification time, at the source',
  })
})

test('where nothing is there, it says what the answer depends on', async () => {
  expect(await explain({ exclusions })).toMatchObject({
    decision: 'DEPENDS',
    by: 'large',
    explanation:
      'whether the exclusion large matches the path depends on its size, which is unknown: specify it with --size',
    judgedAs: 'assumed to be a file; the path does not exist at the source',
  })
  expect(await explain({ exclusions }, { size: 1 })).toMatchObject({ decision: 'DEPENDS', by: 'old' })
  const problem = new GantryError('STORE_UNREACHABLE', 'from: no route to host')
  expect(await explain({ exclusions, problem })).toMatchObject({
    decision: 'DEPENDS',
    judgedAs: 'assumed to be a file; the source could not be read: from: no route to host',
  })
  // What another rule decides, or no rule asks for, depends on nothing.
  const any = { exclusions: [...exclusions, temporary] }
  expect(await explain(any, { path: '/a.tmp' })).toMatchObject({ decision: 'EXCLUDED', by: 'temporary' })
  expect(await explain({ exclusions: [temporary] })).toMatchObject({ decision: 'MIGRATED' })
})

test('an inclusion that asks for size decides what no other includes', async () => {
  const inclusions = [large, temporary]
  expect(await explain({ inclusions })).toMatchObject({ decision: 'DEPENDS', by: 'large' })
  expect(await explain({ inclusions }, { path: '/a.tmp' })).toMatchObject({
    decision: 'MIGRATED',
    by: 'temporary',
  })
  expect(await explain({ inclusions }, { size: 1, modified: '2026-01-01T00:00:00Z' })).toMatchObject({
    decision: 'NOT_INCLUDED',
  })
})

test('without a migration, all exclusions decide, and no source is asked', async () => {
  const all = { exclusions: [temporary, large], isAlone: true }
  expect(await explain(all, { path: '/a.tmp' })).toMatchObject({
    decision: 'EXCLUDED',
    by: 'temporary',
    judgedAs: 'assumed to be a file',
    looks: 0,
  })
  expect(await explain(all)).toMatchObject({ decision: 'DEPENDS', by: 'large', looks: 0 })
  expect(await explain(all, { size: 1 })).toMatchObject({
    decision: 'MIGRATED',
    explanation: 'no exclusion matches the path',
  })
})

test('a pattern is tried before it is an exclusion, alone or beside those of a migration', async () => {
  const glob = { regex: '*.bak', patternType: 'GLOB' } as const
  const alone = { isAlone: true }
  expect(await explain(alone, { ...glob, path: '/a/b.bak' })).toMatchObject({
    decision: 'EXCLUDED',
    by: undefined,
    explanation: 'the pattern matches the path',
  })
  expect(await explain(alone, { ...glob, path: '/old.bak/a' })).toMatchObject({
    explanation: 'the pattern matches the folder /old.bak',
  })
  expect(await explain({ exclusions: [temporary], ...alone }, { ...glob, path: '/a.tmp' })).toMatchObject({
    decision: 'MIGRATED',
    explanation: 'the pattern does not match the path',
  })
  expect(await explain({ exclusions: [temporary] }, { ...glob, path: '/a.bak' })).toMatchObject({
    decision: 'EXCLUDED',
    explanation: 'the pattern matches the path',
  })
  expect(await explain({ exclusions: [temporary] }, { ...glob, path: '/a.tmp' })).toMatchObject({
    decision: 'EXCLUDED',
    by: 'temporary',
  })
  await expect(explain(alone, { regex: '(', patternType: 'JAVA_PCRE' })).rejects.toThrow(/regex/)
})

test.each([
  ['a pattern that is tried', { regex: '.*a.{900}b', patternType: 'JAVA_PCRE' as const }, []],
  [
    'a rule',
    {},
    [{ id: 'slow', type: 'regex', regex: '.*a.{900}b', patternType: 'JAVA_PCRE' } satisfies Rule],
  ],
])('%s whose matching would keep others waiting is refused', async (_, asked, rules) => {
  const path = '/abcde'.repeat(2_000)
  await expect(explain({ exclusions: rules, isAlone: true }, { ...asked, path })).rejects.toMatchObject({
    code: 'NOT_ACCEPTED',
    message: expect.stringMatching(/path is too long, or has too many folders/) as string,
  })
})

test('inclusions of a migration are held to the same, before any is looked at', async () => {
  const slow: Rule = { id: 'slow', type: 'regex', regex: '.*a.{900}b', patternType: 'JAVA_PCRE' }
  await expect(explain({ inclusions: [slow] }, { path: '/abcde'.repeat(100) })).rejects.toMatchObject({
    code: 'NOT_ACCEPTED',
  })
  // Of a path as people have them it is told.
  const usual = await explain({ inclusions: [slow] }, { path: '/data/2026/11/report.csv', type: 'file' })
  expect(usual).toMatchObject({ decision: 'NOT_INCLUDED' })
})

test('a path of thousands of folders is judged where no pattern looks at it', async () => {
  const path = '/a'.repeat(4_000)
  expect(await explain({ isAlone: true }, { path, type: 'file' })).toMatchObject({ decision: 'MIGRATED' })
})

test('inclusions are not asked about all folders above each folder on the way', async () => {
  const listed: Rule = { id: 'listed', type: 'paths', paths: ['/b'] }
  const path = '/a'.repeat(2_000)
  expect(await explain({ inclusions: [listed] }, { path, type: 'file' })).toMatchObject({
    decision: 'NOT_INCLUDED',
  })
  const below: Rule = { id: 'below', type: 'paths', paths: [path] }
  expect(await explain({ inclusions: [below] }, { path: `${path}/a`, type: 'file' })).toMatchObject({
    decision: 'MIGRATED',
  })
  await expect(explain({ inclusions: [below] }, { path: '/a'.repeat(8_000) })).rejects.toMatchObject({
    code: 'NOT_ACCEPTED',
  })
})
