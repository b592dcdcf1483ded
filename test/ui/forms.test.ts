import { expect, test } from 'vitest'
import { resources } from '../../subjects/index.ts'
import type { Contract } from '../../subjects/kit/contract.ts'
import { fieldsOf, type JsonSchema, usualKeyword } from '../../subjects/kit/json-schema.ts'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { alerts } from '../../subjects/observability/alerts.ts'
import {
  addingText,
  describedText,
  doneText,
  durationText,
  labelOf,
  optionText,
  helpBeyond,
  saidText,
  seriesName,
  shownText,
  withoutDefault,
} from '../../ui/kit/format.ts'
import { isFound, isNearlyFound, withoutPart } from '../../ui/app/find.ts'
import { groupsOf, permitted } from '../../ui/kit/permissions.ts'
import { grown } from '../../ui/pages/migrations/curve.ts'
import { migrationParts } from '../../ui/pages/migrations/parts.ts'
import {
  helpsOf,
  inputOf,
  modeNames,
  modeOf,
  stepsOf,
  unfitFields,
  withMode,
} from '../../ui/pages/migrations/draft.ts'
import {
  differenceKinds,
  differencesText,
  isOutdated,
  isToVerify,
  outcomeText,
  resultText,
  sideText,
} from '../../ui/pages/migrations/verification-text.ts'
import { targetState } from '../../ui/pages/migrations/target-state.ts'
import { roots } from '../../subjects/kit/names.ts'

const contracts: readonly Contract[] = Object.values(resources).flatMap((all) => Object.values(all))

/** Every field of a schema, those of its parts included. */
const allFields = (schema: JsonSchema): readonly (readonly [string, JsonSchema])[] =>
  Object.entries(schema.properties ?? {}).flatMap(([name, field]) => [
    [name, field] as const,
    ...allFields(field),
    ...(field.items === undefined ? [] : allFields(field.items)),
  ])

test('a field is labelled in words, and no two of a form alike', () => {
  for (const { input, subject } of contracts) {
    const labels = Object.keys(fieldsOf(input)).map(labelOf)
    expect(new Set(labels).size, subject).toBe(labels.length)
    // What stands in brackets is what people know from elsewhere.
    for (const [name] of allFields(input))
      expect(labelOf(name).replace(/ \(.*\)/, ''), subject).not.toMatch(/[a-z]{2}[A-Z]|_|filesystem/)
  }
  expect(['fileSystemId', 'maxStorageMib', 'sourceFileSystem'].map(labelOf)).toEqual([
    'Store name',
    'Maximum storage MiB',
    'Source store',
  ])
})

test('who adds something is not told what stays as it was', () => {
  expect(addingText(alerts['put-webhook'].description!)).toMatch(
    /^Each alert is sent when .*\. A generated secret is shown only once\. .* lists them\.$/,
  )
  expect(addingText(alerts['put-rule'].description!)).toMatch(/^A new rule requires `kind` [^.]*\.$/)
})

test('a text says store, and leaves commands as they are typed', () => {
  expect(
    shownText('Filesystem here: see "gantry filesystems get here" or `filesystems`, then other filesystems'),
  ).toBe('Store here: see "gantry filesystems get here" or `filesystems`, then other stores')
})

test('a text of a field names other fields and choices as the form has them', () => {
  expect(
    describedText(
      'Default: the setting of the source (scanOnly), or `fsRoot`; with DELAYED_DELETION, see "gantry agents put-settings --moved-by ALL"',
    ),
  ).toBe(
    'Default: the setting of the source (“New migrations copy once”), or “Root folder”; with “Delayed deletion”, see "gantry agents put-settings --moved-by ALL"',
  )
  expect(describedText('Order when not all can run; default NORMAL', ['HIGH', 'NORMAL'])).toBe(
    'Order when not all can run; default “Normal”',
  )
  expect(describedText('Kind of service; default AWS', ['AWS', 'GCS'])).toBe('Kind of service; default AWS')
  // A name of an object that all objects have is that of a field like others.
  expect(['constructor', 'toString'].map(labelOf)).toEqual(['Constructor', 'To string'])
  const began = performance.now()
  describedText(`a${'A'.repeat(100_000)}_`)
  expect(performance.now() - began).toBeLessThan(1_000)
})

test('a choice is shown in words, and units and abbreviations as they are', () => {
  const shown = {
    NO_DELETION: 'No deletion',
    ALL: 'All',
    NORMAL: 'Normal',
    SkipIfSizeAndTimeMatch: 'Skip if size and time are the same',
    PrivateKey: 'Private key',
    userDefined: 'User defined',
    DIFFERENCES_CSV: 'Differences CSV',
    IBM_COS: 'IBM COS',
    MINIO: 'MinIO',
    AWS: 'AWS',
    MB: 'MB',
    KiB: 'KiB',
    size: 'size',
    'error-rate': 'error-rate',
  }
  expect(Object.fromEntries(Object.keys(shown).map((value) => [value, optionText(value)]))).toEqual(shown)
  for (const { input, subject } of contracts)
    for (const [name, field] of allFields(input))
      for (const value of field.enum ?? field.items?.enum ?? [])
        expect(
          optionText(String(value)).replace(/\b(?:MinIO|SeaweedFS)\b/, ''),
          `${subject} ${name}`,
        ).not.toMatch(/_|[a-z]{2}[A-Z]|\b(?:ALL|LOW|HIGH|FULL)\b/)
})

test('a help that repeats its label is left out', () => {
  const repeated = [
    ['Rule name', 'Name of the rule'],
    ['Name', 'Name of the agent'],
    ['Name', 'Role name'],
    ['Target store', 'Target store'],
    ['Target', 'Target store'],
    ['Catalog ID', 'Name of the catalog'],
  ] as const
  for (const [label, help] of repeated) expect(helpBeyond(label, help), help).toBeUndefined()
  const telling = [
    ['Token', 'API token'],
    ['Target', 'Name of the catalog'],
    ['Name', 'Display name, shown in menus'],
  ] as const
  for (const [label, help] of telling) expect(helpBeyond(label, help), help).toBe(help)
  expect(helpBeyond('Migration name', 'Migration name (generated if omitted)')).toBe('Generated if omitted')
  const text = 'Keep modes; default: true. Others stay, default false'
  expect(withoutDefault(text, 'true')).toBe('Keep modes. Others stay, default false')
  expect(withoutDefault('Order; default NORMAL', 'NORMAL')).toBe('Order')
  expect(withoutDefault('What moves; default: that of others', 'ALL')).toBe(
    'What moves; default: that of others',
  )
})

test('a switch says to forms what its text says of its default', () => {
  const wrong = contracts.flatMap(({ input, subject }) =>
    allFields(input)
      .filter(([, { type, description = '' }]) => type === 'boolean' && /default:? true/.test(description))
      .filter(([, field]) => field[usualKeyword] !== true)
      .map(([name]) => `${subject} ${name}`),
  )
  expect(wrong).toEqual([])
})

test('no field of a migration is lost, and each mode has its own', () => {
  const asked = modeNames.map((mode) => stepsOf(mode, { targetMatch: true }).flatMap(({ fields }) => fields))
  for (const fields of asked) expect(new Set(fields).size).toBe(fields.length)
  const [once, live, recurring] = asked as [string[], string[], string[]]
  expect([...new Set(asked.flat())].toSorted()).toEqual(
    Object.keys(fieldsOf(migrations.create.input))
      .filter(
        (name) =>
          !['scanOnlyMigration', 'recurringMigration', 'autoStart', 'autoSourceCleanupEnabled'].includes(
            name,
          ),
      )
      .toSorted(),
  )
  expect(once).not.toContain('recurringSchedule')
  expect(live).not.toContain('targetMatch')
  expect(live).toContain('comparisonPeriodSeconds')
  expect(recurring).not.toContain('deletionMode')
  expect(stepsOf('recurring', {}).map(({ title }) => title)).toContain('Schedule')
  expect(stepsOf('once', {}).flatMap(({ fields }) => fields)).not.toContain('maxDeletions')
})

test('a migration that is changed is asked only for what goes with its mode, with the defaults of it', () => {
  expect(unfitFields('once', { targetMatch: false })).toContain('maxDeletions')
  expect(unfitFields('once', {})).not.toContain('deletionMode')
  expect(unfitFields('live', {})).toContain('deletionMode')
  expect(unfitFields('live', {})).not.toContain('maxDeletions')
  expect(helpsOf('live')['maxDeletions']).toBe(
    'Files and folders that may be deleted without approval within one hour. Default: no limit',
  )
  expect(helpsOf('recurring')['maxDeletions']).toBe(
    'Files and folders that may be deleted without approval. Default: 1000',
  )
  expect(helpsOf('live')['maxDeletionPercent']).toMatch(/; default: no limit$/)
})

test('differences are told by what makes them go', () => {
  const none = {
    filesMissingOnTarget: 0,
    directoriesMissingOnTarget: 0,
    fileSizeMismatches: 0,
    fileDigestMismatches: 0,
    fileTimeMismatches: 0,
    metadataMismatches: 0,
    filesMissingOnSource: 0,
    directoriesMissingOnSource: 0,
    typeMismatches: 0,
    unreadablePaths: 0,
  }
  const staying = { ...none, filesMissingOnSource: 2, directoriesMissingOnSource: 1, totalDiscrepancies: 4 }
  expect(differenceKinds(staying)).toMatchObject({
    isCopied: false,
    says: '4 differences: 3 only at the target, 1 excluded',
  })
  expect(differenceKinds(staying).advice).toMatch(/only at the target stays.*An excluded path differs/)
  expect(differenceKinds({ ...none, fileSizeMismatches: 1, totalDiscrepancies: 1 })).toEqual({
    isCopied: true,
    says: '1 difference',
    advice: '',
  })
  expect(differenceKinds({ ...staying, fileTimeMismatches: 1, totalDiscrepancies: 5 }).says).toBe(
    '5 differences: 1 to copy, 3 only at the target, 1 excluded',
  )
})

test('a verification is of before when the migration has completed since', () => {
  const [before, then, after] = ['10', '11', '12'].map((hour) => `2026-01-01T${hour}:00:00Z`) as [
    string,
    string,
    string,
  ]
  expect(isOutdated({ finishedAt: then }, { migrationCompleteTime: before })).toBe(false)
  expect(isOutdated({ finishedAt: then }, { migrationCompleteTime: after })).toBe(true)
  expect(isOutdated({ finishedAt: then }, {})).toBe(false)
  const once = { state: 'COMPLETED', scanOnlyMigration: true, recurringMigration: false } as const
  const isAsked = (totalDiscrepancies: number, migrationCompleteTime: string, more: object = {}) =>
    isToVerify({ ...once, migrationCompleteTime, ...more }, { totalDiscrepancies, finishedAt: then })
  expect(isToVerify(once, undefined)).toBe(true)
  expect(isAsked(0, before)).toBe(false)
  expect(isAsked(0, after)).toBe(true)
  // Those have a notice of their own.
  expect(isAsked(2, after)).toBe(false)
  expect(isAsked(0, after, { state: 'RUNNING' })).toBe(false)
  expect(isAsked(0, after, { recurringMigration: true })).toBe(false)
})

test('a mode is what the contract takes for it, and fields of another mode are not sent', () => {
  const draft = { path: '/', source: 'a', target: 'b', recurringPeriod: '1H' }
  for (const mode of modeNames) expect(modeOf(withMode(draft, mode))).toBe(mode)
  expect(modeOf(draft, false)).toBe('live')
  expect(modeOf(draft)).toBe('once')
  expect(withMode(draft, 'recurring').actionPolicy).toBe('SkipIfSizeAndTimeMatch')
  const live = withMode(withMode(draft, 'recurring'), 'live')
  expect(inputOf(live, stepsOf('live', live))).toEqual({
    path: '/',
    source: 'a',
    target: 'b',
    scanOnlyMigration: false,
  })
})

test('permissions are grouped by what they are about', () => {
  const reading = permitted.find(({ resource }) => resource === 'migrations')!.reading
  expect(
    groupsOf([
      ...reading,
      `${roots.services}.migrations.start`,
      `${roots.services}.filesystems.>`,
      `${roots.services}.keys.list`,
      `${roots.extensions}.weather.>`,
      `${roots.events}.>`,
      'gantry.>',
    ]),
  ).toEqual([
    { label: 'Migrations', says: 'read, start', isReading: false },
    { label: 'Stores', says: 'everything', isReading: false },
    { label: 'Keys', says: 'list', isReading: true },
    { label: 'Extension weather', says: `${roots.extensions}.weather.>` },
    { label: 'All events', says: `${roots.events}.>` },
    { label: 'Everything', says: 'gantry.>' },
  ])
})

test('a target that is complete is told so, however often its files were counted', () => {
  const progress = {
    failedPaths: 0,
    migratedPercentage: 85,
    filesScanned: 20,
    filesMigrated: 10,
    filesSkipped: 4,
    filesSuperseded: 1,
  }
  const at = (
    state: 'COMPLETED' | 'LIVE' | 'RUNNING' | 'STOPPED',
    isScanned: boolean,
    failedPaths = 0,
    scans = 0,
  ) => targetState({ state, progress: { ...progress, failedPaths }, isScanned, scans })
  expect(at('COMPLETED', true)).toEqual({ percentage: 100, says: 'Complete' })
  expect(at('COMPLETED', true, 3)).toEqual({ says: 'Completed with 3 failures' })
  expect(at('LIVE', true)).toEqual({ percentage: 100, says: 'First scan complete; follows changes' })
  expect(at('STOPPED', true)).toEqual({ says: 'First scan complete; later changes may be missing' })
  expect(at('RUNNING', true)).toEqual({ says: 'First scan complete; a rescan or retry is running' })
  expect(at('RUNNING', false)).toEqual({ percentage: 85, says: '85 % of what was found' })
  const { migratedPercentage: _unknown, ...listing } = progress
  expect(targetState({ state: 'RUNNING', progress: listing, isScanned: false, scans: 0 })).toEqual({
    says: '15 of 20 files found so far',
  })
  expect(at('RUNNING', false, 0, 2)).toEqual({
    percentage: 85,
    says: 'Scan 2: 85 % of what was found',
  })
})

test.each([
  [
    'use it, delete it with "gantry migrations delete nightly", or choose another path',
    'use it, delete it, or choose another path',
  ],
  ['there is no filesystem here: see "gantry filesystems list"', 'there is no store here'],
  [
    'large is in use by migrations a and b: remove it first, starting with "gantry exclusions detach a large"',
    'large is in use by migrations a and b: remove it first',
  ],
  ['fsRoot /data: the folder is not there', 'Root folder /data: the folder is not there'],
  ['myData is RUNNING: stop it first', 'myData is RUNNING: stop it first'],
  ['the name "with space" is taken', 'the name "with space" is taken'],
])('%s is said without commands', (text, said) => expect(saidText(text)).toBe(said))

test('fields in one word are named as the form has them, where they are marked', () =>
  expect(describedText('A new rule requires `kind`, and kind cannot change.')).toBe(
    'A new rule requires “Kind”, and kind cannot change.',
  ))

test('what is on one side only is said of the target', () => {
  expect((['MISSING_ON_TARGET', 'MISSING_ON_SOURCE', 'SIZE_MISMATCH'] as const).map(resultText)).toEqual([
    'missing at the target',
    'only at the target',
    'size mismatch',
  ])
})

test('a verification claims no result before it is complete', () => {
  const counts = { totalDiscrepancies: 0, filesOnSource: 1_000 }
  const queued = { ...counts, status: 'QUEUED', filesOnSource: 0 } as const
  const inProgress = { ...counts, status: 'IN_PROGRESS', startedAt: '2026-01-01T00:00:00.000Z' } as const
  expect([queued, inProgress, { ...inProgress, totalDiscrepancies: 2 }].map(differencesText)).toEqual([
    '–',
    '–',
    '2',
  ])
  expect(differencesText({ ...counts, status: 'COMPLETE' })).toBe('none')
  expect([sideText({}, 0, 0), sideText(inProgress, 1, 2_048)]).toEqual(['–', '1 file, 2.0 KiB'])
  expect([queued, inProgress, { ...counts, status: 'COMPLETE' } as const].map(outcomeText)).toEqual([
    'queued',
    'in progress (1,000 files so far)',
    '0 differences',
  ])
})

test('what only begins is not called done', () => {
  expect(['Start nightly', 'Stop nightly', 'Resume nightly', 'Change nightly'].map(doneText)).toEqual([
    'Started nightly',
    'Stopping nightly',
    'Resumed nightly',
    'Changed nightly',
  ])
})

test('a total is drawn from what was watched and what was kept, and never falls', () => {
  const kept = [
    [60_000, 500],
    [120_000, 900],
  ] as const
  const watched = [
    [30_000, 200],
    // The clock of the browser is a second ahead.
    [61_000, 450],
    [90_000, 700],
  ] as const
  expect(grown([...kept, ...watched])).toEqual([
    [30_000, 200],
    [60_000, 500],
    [61_000, 500],
    [90_000, 700],
    [120_000, 900],
  ])
})

test('series are named by what tells them apart', () => {
  const names = { file: 'On disk' }
  expect(seriesName({ kind: 'file' }, names)).toBe('On disk')
  expect(seriesName({ kind: 'other' }, names)).toBe('other')
  expect(seriesName({ kind: 'file', node: 'a' }, names)).toBe('kind file, node a')
  expect(seriesName({}, names)).toBeUndefined()
})

test('a search goes by the beginnings of words', () => {
  const page = 'Page Metadata rules gates'
  expect(['met rul', 'rules', 'data ru', 'gate', 'page'].filter((typed) => isFound(page, typed))).toEqual([
    'met rul',
    'rules',
    'data ru',
    'gate',
    'page',
  ])
  expect(['ules met', 'rules of', 'verif'].filter((typed) => isFound(page, typed))).toEqual([])
  expect(['metdata', 'ruels', 'metadatta rules', 'metadate'].map((typed) => isFound(page, typed))).toEqual(
    Array.from({ length: 4 }, () => false),
  )
  expect(
    ['metdata', 'rulse', 'metadatta rules', 'metadate', 'rles'].every((typed) => isNearlyFound(page, typed)),
  ).toBe(true)
  expect(['gtae', 'mtdta', 'rxx', 'verif'].some((typed) => isNearlyFound(page, typed))).toBe(false)
  const part = `Verifications ${migrationParts.Verifications}`
  expect(
    ['verif', 'verify nightly', 'nightly verif', 'v', 'nightly'].map((typed) => withoutPart(part, typed)),
  ).toEqual([[], ['nightly'], ['nightly'], undefined, undefined])
})

test('a duration of less than a second is not called none', () => {
  expect([0, 0.25, 0.9, 65, 7_260].map(durationText)).toEqual([
    '0 s',
    '250 ms',
    '1 s',
    '1 min 5 s',
    '2 h 1 min',
  ])
})
