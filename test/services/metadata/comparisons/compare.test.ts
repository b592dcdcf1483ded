import { expect, test } from 'vitest'
import { StoreError } from '../../../../services/drivers/contract/store-error.ts'
import { compareAll } from '../../../../services/metadata/comparisons/compare.ts'
import { ObjectBook } from '../../../../services/metadata/migrations/book.ts'
import type { MetadataMigrationRecord } from '../../../../services/metadata/migrations/record.ts'
import type { Outcome } from '../../../../services/metadata/migrations/reconcile/objects.ts'
import type {
  MetadataWork,
  TableWork,
  WorkKind,
} from '../../../../services/metadata/migrations/reconcile/questions.ts'
import type { ComparisonPurpose } from '../../../../subjects/metadata/comparisons.ts'
import { Scope } from '../../../../services/metadata/migrations/scope.ts'

const settled = { wanted: 'digest', is: 'digest' }
const days = { kind: 'table', database: 'sales', name: 'days' } as const
const work = (name: string, more: Partial<TableWork> = {}): TableWork => ({
  name,
  known: {},
  sinceMs: 0,
  ...more,
})
const planned = (toAdd: number, sample: string) => ({ toAdd, toChange: 0, toDrop: 1, samples: [sample] })

type Answers = { [K in WorkKind]?: (asked: MetadataWork[K]['asked']) => MetadataWork[K]['answer'] }

/** What a comparison counts and tells, with the answers of its threads. @param stored what the migration knows */
async function compared(answers: Answers, purpose: ComparisonPurpose = 'plan', stored: object[] = []) {
  const counts: Record<string, number> = {}
  let lines = ''
  await compareAll(
    {
      record: { once: false } as MetadataMigrationRecord,
      purpose,
      scope: new Scope([{ databasePattern: '*', tablePattern: '*' }]),
      book: await ObjectBook.open({ listGroup: async () => stored } as never, 'id'),
      gates: [],
      ask: async (kind, asked) => answers[kind]!(asked),
    },
    {
      take: async (findings) => {
        for (const [name, more] of Object.entries(findings.counts)) counts[name] = (counts[name] ?? 0) + more
        lines += Object.values(findings.lines).join('')
      },
    },
  )
  return { counts, lines }
}

test('a table whose partitions take several pieces of work counts once, with all of them', async () => {
  const pieces: { outcomes: Outcome[]; left: TableWork[] }[] = [
    {
      outcomes: [
        { ...days, name: 'a', result: 'same', settled },
        { ...days, result: 'changed', settled, partitions: 3_000, planned: planned(2, 'day=1') },
      ],
      left: [work('days', { after: 'day=2999', counted: 3_000 }), work('z')],
    },
    {
      outcomes: [{ ...days, result: 'changed', settled, partitions: 6_000, planned: planned(0, 'day=3001') }],
      left: [work('days', { after: 'day=5999', counted: 6_000 }), work('z')],
    },
    {
      outcomes: [
        { ...days, result: 'changed', settled, partitions: 8_000, planned: planned(5, 'day=7000') },
        { ...days, name: 'z', result: 'same', settled },
      ],
      left: [],
    },
  ]
  const answers: Answers = {
    databases: () => ({ databases: ['sales'] }),
    tables: () => ({ tables: ['a', 'days', 'z'].map((name) => ({ name, type: 'EXTERNAL_TABLE' })) }),
    'bring-database': () => ({
      outcomes: [{ kind: 'database', database: 'sales', result: 'same', settled }],
    }),
    'bring-functions': () => ({ outcomes: [] }),
    'bring-tables': () => pieces.shift()!,
  }
  const { counts, lines } = await compared(answers)
  expect(counts).toMatchObject({
    same: 3,
    toChange: 1,
    totalDifferences: 1,
    partitionsToAdd: 7,
    partitionsToDrop: 3,
    partitionsSame: 7_993,
  })
  expect(lines).toContain('7 to add, 0 to change, 3 to drop, such as day=1, day=3001, day=7000')
})

test('a database that may not be read is refused with its reason, and the others are compared', async () => {
  const { counts, lines } = await compared({
    databases: () => ({ databases: ['closed', 'open'] }),
    tables: ({ database, side }) => {
      if (database === 'closed' && side === 'source')
        throw new StoreError('permission', 'user gantry may not read closed')
      return { tables: [{ name: 't', type: 'EXTERNAL_TABLE' }] }
    },
    'bring-database': ({ database }) => ({
      outcomes: [{ kind: 'database', database, result: 'same', settled }],
    }),
    'bring-functions': () => ({ outcomes: [] }),
    'bring-tables': ({ database, tables }) => ({
      outcomes: tables.map(({ name }) => ({ kind: 'table', database, name, result: 'same', settled })),
      left: [],
    }),
  })
  expect(counts).toMatchObject({ refused: 1, same: 2, totalDifferences: 1 })
  expect(lines).toContain('user gantry may not read closed')
})

test('what the migration would leave is a conflict, and a verification knows only whose an object is', async () => {
  const known: Record<string, unknown> = {}
  const differences = [{ field: 'privileges', wanted: 'SELECT' }]
  const note = { failureClass: 'permission', message: 'another program created it' } as const
  const answers: Answers = {
    databases: () => ({ databases: ['sales'] }),
    tables: () => ({ tables: [{ name: 'days', type: 'EXTERNAL_TABLE' }] }),
    'bring-database': () => ({
      outcomes: [{ kind: 'database', database: 'sales', result: 'same', settled, differences: [] }],
    }),
    'bring-functions': () => ({ outcomes: [] }),
    'bring-tables': ({ tables: [table] }) => {
      known['days'] = table?.known
      return { outcomes: [{ ...days, result: 'same', settled, differences, note }], left: [] }
    },
  }
  const stored = [{ ...days, state: 'arrived', ...settled, isTheirs: true }]
  for (const purpose of ['plan', 'verification'] as const) {
    const { counts, lines } = await compared(answers, purpose, stored)
    expect(counts).toMatchObject({ same: 1, conflicts: 1, totalDifferences: 1 })
    expect(lines).toContain('"days","CONFLICT","privileges","SELECT","","another program created it"')
    const whose = { is: 'digest', isTheirs: true }
    expect(known['days']).toEqual(purpose === 'plan' ? { ...settled, ...whose } : whose)
  }
})
