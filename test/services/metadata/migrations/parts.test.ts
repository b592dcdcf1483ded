import { expect, test } from 'vitest'
import { Scope } from '../../../../services/metadata/migrations/scope.ts'
import { next, requireNext } from '../../../../services/metadata/migrations/states.ts'
import { differencesOf } from '../../../../services/metadata/migrations/reconcile/differences.ts'
import { type Gate, refusalOfGates } from '../../../../services/metadata/migrations/reconcile/gates.ts'
import { digestOf, keyOf, objectOf } from '../../../../services/metadata/migrations/reconcile/objects.ts'
import { metadataStates } from '../../../../subjects/metadata/migrations.ts'

test('equal objects have the same digest, however their fields are ordered; others do not', () => {
  const one = { name: 'a', parameters: { x: '1', y: '2' }, columns: [{ name: 'c', type: 'int' }] }
  const same = {
    columns: [{ type: 'int', name: 'c' }],
    parameters: { y: '2', x: '1' },
    name: 'a',
    comment: undefined,
  }
  expect(digestOf(one)).toBe(digestOf(same))
  for (const other of [
    { ...one, name: 'b' },
    { ...one, parameters: { x: '1' } },
    { ...one, columns: [...one.columns, { name: 'd', type: 'int' }] },
    { ...one, comment: '' },
  ])
    expect(digestOf(other)).not.toBe(digestOf(one))
  expect(digestOf([['a', 'b'], 'c'])).not.toBe(digestOf(['a', ['b', 'c']]))
})

test('objects of one name and different kinds have different keys, but a view has that of the table whose place it takes', () => {
  const keys = [
    keyOf({ kind: 'database', database: 'a' }),
    keyOf({ kind: 'table', database: 'a', name: 'b' }),
    keyOf({ kind: 'function', database: 'a', name: 'b' }),
  ]
  expect(new Set(keys).size).toBe(3)
  expect(keyOf({ kind: 'view', database: 'a', name: 'b' })).toBe(keys[1])
  for (const id of [
    { kind: 'database', database: 'a/b%2F' },
    { kind: 'table', database: 'a', name: 'b/c' },
    { kind: 'table', database: 'a/b', name: 'c%' },
  ] as const)
    expect(objectOf(keyOf(id))).toEqual(id)
})

test('differences name each field, with what is wanted and what is there', () => {
  expect(
    differencesOf(
      { columns: [{ name: 'a', type: 'int' }], parameters: { x: '1', gone: '2' }, same: true },
      { columns: [{ name: 'a', type: 'string' }, { name: 'b' }], parameters: { x: '1' }, same: true },
    ),
  ).toEqual([
    { field: 'columns.0.type', wanted: 'int', found: 'string' },
    { field: 'columns.1', found: '{"name":"b"}' },
    { field: 'parameters.gone', wanted: '2' },
  ])
  const many = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`p${index}`, 'x']))
  expect(differencesOf(many, {})).toHaveLength(20)
})

test.each<[string, readonly Gate[], string | undefined]>([
  ['no migration of files', [], undefined],
  ['one of another folder', [gate({ path: '/else' })], undefined],
  ['one of a folder whose name begins alike', [gate({ path: '/lake/tab' })], undefined],
  ['one that is done', [gate({ arrivedUntilMs: Infinity })], undefined],
  ['one that has brought what was there then', [gate({ arrivedUntilMs: 1_000 })], undefined],
  ['one of everything', [gate({ path: '/', arrivedUntilMs: 999 })], 'not up to date'],
  ['one that lags behind', [gate({ arrivedUntilMs: 999 })], 'not up to date'],
  [
    'one whose changes are not told so far',
    [gate({ arrivedUntilMs: 999, toldUntilMs: 999 })],
    'rescan it: "gantry migrations add-pending-region files /lake"',
  ],
  ['one that is told, and lags', [gate({ arrivedUntilMs: 999, toldUntilMs: 1_000 })], 'not up to date'],
  ['one that scans for the first time', [gate({})], 'has not copied everything yet'],
  ['two, of which one is done', [gate({}), gate({ path: '/', arrivedUntilMs: 1_000 })], undefined],
])('with %s', (_, gates, expected) => {
  const refusal = refusalOfGates(gates, '/lake/table', 1_000)
  if (expected === undefined) expect(refusal).toBeUndefined()
  else expect(refusal).toContain(expected)
  expect(refusalOfGates(gates, undefined, 1_000)).toBeUndefined()
})

function gate(more: Partial<Gate>): Gate {
  return { migrationId: 'files', path: '/lake', state: 'RUNNING', ...more }
}

test('a rule matches tables of databases that it matches; several add up', () => {
  const scope = new Scope([
    { databasePattern: 'sales*', tablePattern: 'orders|returns' },
    { databasePattern: 'hr', tablePattern: '*' },
  ])
  expect(['sales', 'sales_eu', 'HR', 'ops'].filter((name) => scope.hasDatabase(name))).toEqual([
    'sales',
    'sales_eu',
    'HR',
  ])
  expect(scope.hasTable('sales_eu', 'Orders')).toBe(true)
  expect(scope.hasTable('sales', 'people')).toBe(false)
  expect(scope.hasTable('hr', 'people')).toBe(true)
  expect(scope.has({ kind: 'function', database: 'sales', name: 'anything' })).toBe(true)
})

test('nothing is deleted while it runs, and everything can be got out of each state', () => {
  expect(next('RUNNING', 'delete')).toBeUndefined()
  for (const state of metadataStates)
    expect(next(state, 'stop') ?? next(state, 'delete'), state).toBeDefined()
  expect(() => requireNext('lake', 'CREATED', 'resume')).toThrow(
    'lake is CREATED: resume is not allowed; allowed: start, reset, delete',
  )
})
