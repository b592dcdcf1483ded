import { describe, expect, test } from 'vitest'
import { durationText } from '../../../cli/output/format.ts'
import { sizeText } from '../../../subjects/kit/binary-size.ts'
import { report } from '../../../cli/failure.ts'
import { present } from '../../../cli/output/present.ts'
import { type Form, wantedOf } from '../../../cli/output/form.ts'
import { tableText } from '../../../cli/output/table.ts'
import { views } from '../../../cli/output/views.ts'
import { alerts } from '../../../subjects/observability/alerts.ts'
import { agentKeys } from '../../../subjects/migrations/agents.ts'
import type { Contract } from '../../../subjects/kit/contract.ts'
import { GantryError } from '../../../subjects/kit/errors.ts'
import { contracts, resources } from '../../../subjects/index.ts'
import { fieldsOf, jsonSchema } from '../../../subjects/kit/json-schema.ts'
import { planCounts } from '../../../subjects/migrations/model/plan-terms.ts'
import { testTerminal } from '../support.ts'

function shown(
  contract: Contract,
  reply: unknown,
  {
    form = 'table',
    fields,
    isTty = false,
    columns = 100,
    input = {},
  }: { form?: Form; fields?: string[]; isTty?: boolean; columns?: number; input?: object } = {},
) {
  const terminal = testTerminal({ isTty, columns })
  present(terminal, contract, reply, { form, ...(fields && { columns: fields }), input: { ...input } })
  return terminal.written
}

const { audit, filesystems, migrations, keys, notifications, verifications } = resources
const file = { path: '/a b', isDirectory: false, length: 1536, modificationTime: Date.UTC(2026, 0, 2) }

test('a list is a table, with sizes and moments for people', () => {
  const { out } = shown(filesystems['list-paths'], [
    file,
    { ...file, path: '/c', isDirectory: true, length: 0 },
  ])
  const [head, first, second, ...rest] = out.split('\n')
  expect(head).toBe('path  isDirectory  length   modificationTime')
  expect(first).toMatch(/^\/a b {2}no {11}1\.5 KiB {2}2026-01-0\d \d\d:\d\d:00 (?:UTC|[+-]\d\d:\d\d)$/)
  expect(second).toMatch(/^\/c {4}yes {10}0 B/)
  expect(rest).toEqual([''])
})

test('--json is exactly the reply: in one line for programs, in several on a terminal', () => {
  expect(shown(filesystems['list-paths'], [file], { form: 'json' }).out).toBe(`${JSON.stringify([file])}\n`)
  expect(JSON.parse(shown(filesystems['list-paths'], [file], { form: 'json', isTty: true }).out)).toEqual([
    file,
  ])
})

test('a list shows the columns that its contract names', () => {
  const key = { id: 'k1', name: 'n', notes: 'not shown', owner: 'o', kind: 'key' }
  expect(shown(keys.list, [key]).out.split('\n')[0]?.split(/ +/)).toEqual(keys.list.cli?.columns)
})

test('a plan has files with their bytes, and only what there is', () => {
  const counts = Object.fromEntries(Object.keys(planCounts).map((name) => [name, 0]))
  const plan = {
    planId: 'p',
    migrationId: 'first',
    status: 'COMPLETE',
    startedAt: '2026-01-02T00:00:00.000Z',
  }
  const { out } = shown(migrations.plan, {
    ...plan,
    ...counts,
    internalId: 'i',
    filesToSkip: 2,
    bytesToSkip: 1_536,
    foldersToMake: 3,
    deletionsNeedApproval: false,
    samples: [{ action: 'SKIP', path: '/a', reason: 'equal' }],
  })
  const names = out
    .split('\n')
    .map((line) => line.split(/ {2,}/)[0])
    .filter((name) => name !== '')
  expect(names).toEqual([
    'planId',
    'migrationId',
    'status',
    'startedAt',
    'toCopy',
    'alreadyAtTarget',
    'foldersToMake',
    'samples',
    'action',
    'SKIP',
  ])
  expect(out).toMatch(/toCopy +0 files \(0 B\)\nalreadyAtTarget +2 files \(1\.5 KiB\)/)
})

test('a name is that which an object was given, where its first field is another', () => {
  const rule = { kind: 'migration-lagging', name: 'slow', enabled: true }
  expect(shown(alerts['put-rule'], rule, { form: 'name' }).out).toBe('slow\n')
})

test('columns may be named as the head of the table names them', () => {
  const rows = [{ bucketPeriod: 'DAY', migrationStats: { filesMigrated: 7 } }]
  const contract = migrations.stats
  expect(contract.cli?.columns).toContain('migrationStats.filesMigrated')
  for (const name of ['filesMigrated', 'migrationStats.filesMigrated'])
    expect(shown(contract, rows, { fields: ['bucketPeriod', name] }).out).toMatch(/filesMigrated\nDAY +7\n/)
  expect(() => shown(contract, rows, { fields: ['filesMissing'] })).toThrow(/--columns: unknown field/)
})

test('an empty list and an empty reply say so', () => {
  expect(shown(keys.list, []).out).toBe('none\n')
  expect(shown(audit.list, { records: [] }).out).toBe('none\n')
  const input = { migrationId: `first\n` }
  expect(shown(migrations.delete, {}, { input }).out).toBe('deleted first\\n\n')
  expect(shown(filesystems['report-changes'], {}).out).toBe('done\n')
})

test('one object is names and values, what is in it below it, and lists in it are tables', () => {
  const failure = { id: 1, path: '/x', failureClass: 'io', failureMessage: 'broken', attempts: 3 }
  const { out } = shown(migrations.failures, { migrationId: 'm', failedPathCount: 1, failedPaths: [failure] })
  expect(out).toMatch(/^migrationId {6}m\nfailedPathCount {2}1\n\nfailedPaths\n/)
  expect(out).toMatch(/\n1 +\/x +io +broken/)
  expect(shown(filesystems.get, { fileSystemId: 'f', properties: { fsRoot: '/' } }).out).toBe(
    'fileSystemId  f\nproperties\n  fsRoot      /\n',
  )
})

describe('on a narrow terminal', () => {
  const narrow = { isTty: true, columns: 60 }
  const widest = (text: string) => Math.max(...text.split('\n').map((line) => line.length))

  test('texts are wrapped, and ids stay whole', () => {
    const rows = [{ id: 'a'.repeat(36), text: 'start the platform with the command of its folder' }]
    const text = tableText(testTerminal(narrow), ['id', 'text'], [Object.values(rows[0]!)])
    expect(text).toContain(rows[0]!.id)
    expect(text.replaceAll(/\s+/g, ' ')).toContain('start the platform with')
    expect(text).not.toContain('…')
    expect(widest(text)).toBeLessThanOrEqual(60)
  })

  test('columns that do not fit are left out from the end, and named', () => {
    const head = ['id', 'one', 'two', 'three', 'four']
    const text = tableText(testTerminal(narrow), head, [head.map((name) => name.repeat(12))])
    expect(text).toContain('Not shown, as the terminal is too narrow: three, four')
    expect(widest(text)).toBeLessThanOrEqual(60)
  })

  test('words stay whole where columns can be left out instead, and long ones break where they are joined', () => {
    const subject = 'gantry.services.v1.verifications.create'
    const row = ['k2702remwue0pd8', subject, 'NOT_ACCEPTED', 'a few words of details']
    const text = tableText(
      testTerminal({ isTty: true, columns: 50 }),
      ['user', 'what', 'result', 'details'],
      [row],
    )
    expect(text).toBe(
      [
        'user             what                 result',
        'k2702remwue0pd8  gantry.services.v1.  NOT_ACCEPTED',
        '                 verifications.',
        '                 create',
        'Not shown, as the terminal is too narrow: details',
        'Choose others with --columns.',
        '',
      ].join('\n'),
    )
  })

  test('states and progress are the last columns to be left out', () => {
    const head = ['id', 'source', 'target', 'migratedPercentage', 'status', 'message']
    const text = tableText(testTerminal({ isTty: true, columns: 50 }), head, [
      ['copy-of-a-lake', 'a-source-with-a-name', 'a-target-with-a-name', '12', 'RUNNING', 'x'.repeat(20)],
    ])
    expect(text).toContain('too narrow: source, target, message')
    expect(text).toMatch(/RUNNING/)
    const first = { id: 'm'.repeat(30), progress: { migratedPercentage: 12, failedPaths: 3 } }
    const list = { migrations: [first], count: 1 }
    const { out } = shown(migrations.summary, { running: list }, { isTty: true, columns: 60 })
    expect(out).toMatch(/m{30} +12 +3\n/)
  })

  test('of a path that is longer than the terminal nothing is left out', () => {
    const long = { ...file, path: `/${'x'.repeat(300)}` }
    const { out } = shown(filesystems['list-paths'], [long], { isTty: true, columns: 80 })
    expect(out.match(/x/g)).toHaveLength(300)
    expect(out).toContain('1.5 KiB')
    expect(widest(out)).toBeLessThanOrEqual(80)
  })

  test('who asks for all columns gets whole rows', () => {
    const long = { ...file, path: `/${'x'.repeat(300)}` }
    const { out } = shown(filesystems['list-paths'], [long], { ...narrow, form: 'wide' })
    expect(out).toContain(long.path)
  })

  test('programs read whole rows', () => {
    const long = { ...file, path: `/${'x'.repeat(300)}` }
    expect(shown(filesystems['list-paths'], [long]).out).toContain(long.path)
  })
})

test('a page that is full names where the next one begins', () => {
  const rows = [{ id: 'first' }, { id: 'last' }]
  const { err } = shown(notifications.list, rows, { input: { limit: 2 } })
  expect(err).toContain('--after last')
})

test('wide and combining characters stay whole', () => {
  const { out } = shown(filesystems['list-paths'], [{ ...file, path: '/日本語のファイル名 e\u0301' }])
  expect(out).toContain('/日本語のファイル名 e\u0301')
})

test('control characters of others do not reach the terminal', () => {
  const evil = { ...file, path: '/\u001b[2Jx\u0007\n' }
  const { out } = shown(filesystems['list-paths'], [evil])
  expect(out).toContain(String.raw`/\u001b[2Jx\u0007\n`)
})

/** CSI, DEL, a line that is turned around, and one that is let loose again. */
const tricks = '\u009b2J\u007f\u202e\u2069'
const shownTricks = String.raw`\u009b2J\u007f\u202e\u2069`

test('nor do those that JSON leaves as they are, in values or in names', () => {
  expect(shown(filesystems['list-paths'], [{ ...file, path: tricks }]).out).toContain(shownTricks)
  const odd: Contract = { ...filesystems.get, output: {} }
  for (const reply of [{ [tricks]: 1 }, { [tricks]: [{ [tricks]: 1 }] }, [{ [tricks]: 1 }], tricks]) {
    const { out } = shown(odd, reply)
    expect(out).toContain(shownTricks)
    expect(out).not.toContain('\u009b')
  }
  const { out } = shown(odd, { [tricks]: tricks }, { form: 'json', isTty: true })
  expect(out).toBe(`{\n  "${shownTricks}": "${shownTricks}"\n}\n`)
  const terminal = testTerminal()
  const error = new GantryError('NOT_FOUND', tricks)
  report(terminal, error, { json: true })
  report(terminal, error, { json: false })
  report(terminal, new Error(tricks), { json: false })
  expect(terminal.written.err.split(shownTricks)).toHaveLength(4)
})

test('what is nested without end is a clear error, in whatever form it is wanted', () => {
  const odd: Contract = { ...filesystems.get, output: {} }
  const lists: unknown = JSON.parse('['.repeat(100_000) + ']'.repeat(100_000))
  const objects: unknown = JSON.parse('{"a":'.repeat(100_000) + '1' + '}'.repeat(100_000))
  for (const reply of [lists, objects])
    for (const form of ['json', 'yaml', 'table'] as const)
      expect(() => shown(odd, reply, { form })).toThrow(
        expect.objectContaining({ code: 'INTERNAL', message: expect.stringContaining('too deep') }),
      )
  const terminal = testTerminal()
  report(terminal, new GantryError('NOT_FOUND', 'there is none', { details: lists }), { json: true })
  expect(terminal.written.err).toBe('{"code":"NOT_FOUND","message":"there is none"}\n')
})

test('a full page says that there may be more', () => {
  expect(shown(filesystems['list-paths'], [file, file], { input: { limit: 2 } }).err).toContain('--after')
  expect(shown(filesystems['list-paths'], [file], { input: { limit: 2 } }).err).toBe('')
})

test.for([
  [0, '0 B'],
  [1023, '1023 B'],
  [1024, '1.0 KiB'],
  [1024 ** 3 * 2.5, '2.5 GiB'],
  [1024 ** 2 * 300, '300 MiB'],
] as const)('%d bytes are %s', ([bytes, text]) => expect(sizeText(bytes)).toBe(text))

test.for([
  [0.4, '0 s'],
  [59.6, '1 min 00 s'],
  [3723, '1 h 02 min'],
  [90_000, '1 d 01 h'],
] as const)('%d seconds are %s', ([seconds, text]) => expect(durationText(seconds)).toBe(text))

test('of a long object people see what matters; --wide shows all of it', () => {
  const verification = {
    id: 'v',
    migrationId: 'first',
    status: 'COMPLETE',
    level: 'digest',
    filesOnSource: 3,
    filesOnTarget: 2,
    filesMissingOnTarget: 1,
    typeMismatches: 0,
    totalDiscrepancies: 1,
    bytesOnSource: 2048,
  }
  const { out } = shown(verifications.get, verification)
  expect(out.split('\n').map((line) => line.split(/ +/)[0])).toEqual([
    ...['id', 'migrationId', 'status', 'level', 'filesOnSource', 'filesOnTarget', 'totalDiscrepancies'],
    ...['filesMissingOnTarget', ''],
  ])
  expect(shown(verifications.get, verification, { form: 'wide' }).out).toContain('typeMismatches')
})

test('what the platform says of a migration names commands as they are typed here; names of others stay', () => {
  const since = '2026-01-02T00:00:00.000Z'
  const message = 'Restore it, or run "gantry migrations accept-source a"'
  const migration = {
    migrationId: 'gantry up',
    stateText: `stopped: ${message}`,
    conditions: [{ reason: 'SOURCE_CHANGED', message, since }],
  }
  const terminal = testTerminal({
    command: { here: './gantry', anywhere: '/srv/gantry/gantry', start: './gantry up' },
  })
  present(terminal, migrations.get, migration, { form: 'table', input: {} })
  expect(terminal.written.out.match(/run "\.\/gantry migrations accept-source a"/g)).toHaveLength(2)
  expect(terminal.written.out).toMatch(/^migrationId +gantry up$/m)
})

test('a verification that is queued shows no counts, but that it has not begun', () => {
  const queued = { id: 'v', status: 'QUEUED', level: 'size', filesOnSource: 0, totalDiscrepancies: 0 }
  const { out } = shown(verifications.create, queued)
  expect(out).toMatch(/^progress +not started yet$/m)
  expect(out).not.toMatch(/filesOnSource|totalDiscrepancies/)
})

test('of a migration people see what was found and copied, how long it took and how fast it was', () => {
  const counts = { byteCount: 3_145_728, fileCount: 2_000, directoryCount: 1 }
  const migration = {
    migrationId: 'first',
    state: 'RUNNING',
    scanOnlyMigration: true,
    failedPathCount: 0,
    migrationStartTime: '2026-01-02T00:00:00.000Z',
    scannerSummary: {
      progressSummary: { filesScanned: 3_001, bytesScanned: 5_242_880 },
      contentSummary: counts,
    },
    clientActivitySummary: { byteCount: 1_048_576, fileCount: 1, directoryCount: 0 },
  }
  const running = shown(migrations.get, migration).out
  expect(running).toMatch(/^found +3,001 files \(5(?:\.0)? MiB\)$/m)
  expect(running).toMatch(/^copied +2,001 files \(4(?:\.0)? MiB\)$/m)
  expect(running).not.toMatch(/^(?:duration|rate) /m)
  expect(running).not.toMatch(/inProgress/)
  const stopped = { ...migration, state: 'STOPPED', bytesInProgress: 2_097_152 }
  expect(shown(migrations.get, stopped).out).toMatch(/^copied .*\ninProgress +2(?:\.0)? MiB$/m)
  expect(running).not.toMatch(/superseded|progress/)
  const listed = { ...migration, migratedPercentage: 42, filesSuperseded: 1, bytesSuperseded: 1_024 }
  const { out } = shown(migrations.get, listed)
  expect(out).toMatch(
    /^superseded +1 file \(1(?:\.0)? KiB\) changed, deleted or retried since it was found$/m,
  )
  expect(out).toMatch(/^progress +42 %$/m)
  const taken = shown(migrations.get, { ...listed, filesDeleted: 1_200, foldersDeleted: 1 }).out
  expect(taken).toMatch(/^deletedAtTarget +1,200 files and 1 folder not at the source$/m)
  const { scannerSummary } = migration
  const progressSummary = {
    ...scannerSummary.progressSummary,
    baseScanCompletionTime: '2026-01-02T00:00:00.000Z',
  }
  const live = { ...listed, scanOnlyMigration: false, scannerSummary: { ...scannerSummary, progressSummary } }
  expect(shown(migrations.get, live).out).not.toMatch(/^progress/m)
  const again = { ...migration, filesSkipped: 1_000 }
  expect(shown(migrations.get, again).out).toMatch(/^copied .*\nalreadyAtTarget +1,000 files$/m)
  // Stopped for an hour.
  const completed = {
    ...migration,
    state: 'COMPLETED',
    migrationCompleteTime: '2026-01-02T01:00:04.000Z',
    runningSeconds: 4,
  }
  expect(shown(migrations.get, completed).out).toMatch(
    /^duration +4 s\nrate +500 files\/s, 1(?:\.0)? MiB\/s$/m,
  )
  const { migrationStartTime: _, ...unstarted } = migration
  expect(shown(migrations.get, unstarted).out).not.toMatch(/^(?:found|copied) /m)
})

test('what a view shows is in its model', () => {
  const models = new Map(
    contracts.map(({ output }) => [jsonSchema(output).title, Object.keys(fieldsOf(output))]),
  )
  for (const [title, view] of Object.entries(views)) {
    expect(models.has(title), title).toBe(true)
    // Some models have a view in common.
    const alike = Object.keys(views).filter((other) => views[other] === view)
    const known = alike.flatMap((other) => models.get(other) ?? [])
    expect(known, title).toEqual(
      expect.arrayContaining([...view.fields, ...(view.onceStarted ?? []), ...(view.ifAny ?? [])]),
    )
  }
})

test('a person is told what to do next', () => {
  const migration = { migrationId: 'first', state: 'NONSCHEDULED' }
  const next = (state: string, isTty: boolean) =>
    shown(migrations.create, { ...migration, state }, { isTty }).err
  expect(next('NONSCHEDULED', true)).toBe('Next: gantry migrations start first\n')
  expect(next('RUNNING', true)).toBe('Next: gantry watch first\n')
  expect(next('RUNNING', false)).toBe('')
  const odd = { migrationId: '-rf', state: 'NONSCHEDULED' }
  expect(shown(migrations.create, odd, { isTty: true }).err).toBe('Next: gantry migrations start -- -rf\n')
})

test('columns in which no row has anything are left out', () => {
  const odd: Contract = { ...filesystems.get, output: {} }
  const rows = [
    { id: 'a', age: '', path: '' },
    { id: 'b', age: '', path: '/' },
  ]
  expect(shown(odd, rows).out).toBe('id  path\na\nb   /\n')
})

test('a table has no JSON: objects and lists in a row are names and values', () => {
  const odd: Contract = { ...filesystems.get, output: {} }
  const row = { id: 'a', may: { pub: { allow: ['x', 'y'] }, sub: {} }, parts: [{ n: 1 }, { n: 2, m: 'z' }] }
  expect(shown(odd, [row]).out).toBe('id  may             parts\na   pub.allow=x, y  n=1; n=2 m=z\n')
})

test('what has no limit says so', () => {
  const limits = { scope: 'global', limitBytesPerSecond: -1, limitRequestsPerSecond: 5 }
  expect(shown(resources.bandwidth.get, limits).out).toMatch(
    /limitBytesPerSecond +no limit\n.*RequestsPerSecond +5/,
  )
})

test('-o yaml is the reply, -o name what each row is called', () => {
  expect(shown(filesystems['list-paths'], [file], { form: 'yaml' }).out).toBe(
    `- path: /a b\n  isDirectory: false\n  length: 1536\n  modificationTime: ${file.modificationTime}\n`,
  )
  expect(shown(filesystems['list-paths'], [file, { ...file, path: '/c' }], { form: 'name' }).out).toBe(
    '/a b\n/c\n',
  )
  expect(shown(keys.list, [{ id: 'k1', name: 'n' }], { form: 'name' }).out).toBe('k1\n')
  const failures = { migrationId: 'm', failedPathCount: 1, failedPaths: [{ id: 1, path: '/x' }] }
  expect(shown(migrations.failures, failures, { form: 'name' }).out).toBe('m\n')
  expect(shown(migrations.delete, {}, { form: 'name' }).out).toBe('')
})

test('-o name with --columns is one value alone, such as the token of a new key for a script', () => {
  const key = { id: 'k1', name: 'n', token: 't.o.k' }
  const fields = ['token']
  for (const contract of [keys.create, keys.rotate, agentKeys.register])
    expect(shown(contract, key, { form: 'name', fields }).out).toBe('t.o.k\n')
})

test('--columns chooses fields in every form, also those of objects in objects', () => {
  const fields = ['length', 'path']
  expect(shown(filesystems['list-paths'], [file], { fields }).out).toBe('length   path\n1.5 KiB  /a b\n')
  expect(shown(filesystems['list-paths'], [file], { fields, form: 'json' }).out).toBe(
    '[{"length":1536,"path":"/a b"}]\n',
  )
  const progress = { id: 'm', state: 'LIVE', progress: { failedPaths: 2 } }
  expect(shown(migrations.progress, progress, { fields: ['id', 'progress.failedPaths'] }).out).toBe(
    'id                    m\nprogress.failedPaths  2\n',
  )
  expect(() => shown(filesystems['list-paths'], [file], { fields: ['size'] })).toThrow(
    /--columns: unknown field size; use path, isDirectory/,
  )
})

test('only one output format can be used', () => {
  expect(wantedOf({ json: true, output: 'json' })).toEqual({ form: 'json' })
  expect(wantedOf({ wide: true, columns: 'id, state' })).toEqual({ form: 'wide', columns: ['id', 'state'] })
  expect(() => wantedOf({ json: true, output: 'yaml' })).toThrow(/yaml and json cannot be used together/)
  expect(() => wantedOf({ columns: 'id,,x' })).toThrow(/--columns/)
})

test('lists in objects of a reply are tables too', () => {
  const list = (migrations: readonly object[]) => ({ migrations, count: migrations.length })
  const one = { id: 'sales', state: 'RUNNING', progress: { migratedPercentage: 40, failedPaths: 2 } }
  const { out } = shown(migrations.summary, { overallCount: 1, running: list([one]), live: list([]) })
  expect(out).toMatch(/\nrunning\.migrations\nid +migratedPercentage/)
  expect(out).toMatch(/\nsales +40 /)
  expect(out).not.toContain('progress.')
})
