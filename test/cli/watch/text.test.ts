import { expect, onTestFinished, test, vi } from 'vitest'
import { type Info, RateMeter } from '../../../subjects/migrations/rate.ts'
import { conditionLines, endLine, failuresLine, liveLine, plainLine } from '../../../cli/watch/text.ts'
import { seenOf } from '../../../cli/watch/of-files.ts'
import { watchView } from '../../../cli/watch/view.ts'
import { momentText } from '../../../cli/output/format.ts'
import { testTerminal } from '../support.ts'

const span = (inSeconds: number) => ({ inSeconds, asText: `${inSeconds}s` })

const info = (state: Info['state'], progress: Partial<Info['progress']> = {}, id = 'nightly'): Info => ({
  id,
  internalId: '5cc427cb-1599-4a55-be06-7a53109a9867',
  path: '/',
  pathRetryCount: 0,
  state,
  conditions: [],
  progress: {
    totalBytes: 4 * 2 ** 20,
    migratedBytes: 2 ** 20,
    excludedBytes: 0,
    totalMigratedBytes: 2 ** 20,
    totalScannedBytes: 4 * 2 ** 20,
    migratedPercentage: 25,
    duration: span(10),
    filesScanned: 4_000,
    filesMigrated: 900,
    filesSkipped: 100,
    filesSuperseded: 0,
    bytesSuperseded: 0,
    foldersScanned: 1,
    failedPaths: 0,
    filesDeleted: 0,
    foldersDeleted: 0,
    migratedBytesByScan: 2 ** 20,
    migratedBytesByChanges: 0,
    ...progress,
  },
})
const rate = { filesPerSecond: 100, bytesPerSecond: 2 ** 20 / 10, etaSeconds: 30 }

test('a live line has all that one wants to know', () => {
  expect(liveLine(info('RUNNING', { failedPaths: 2 }), rate, 160)).toBe(
    'nightly  ███████░░░░░░░░░░░░░░░░░░░░░░░   25 %  1,000 of 4,000 files  1.0 MiB of 4.0 MiB  100 files/s  102 KiB/s  ETA 30 s  2 failures',
  )
})

test('a long name leaves room for the figures', () => {
  const line = liveLine(info('RUNNING', {}, `copy-${'x'.repeat(60)}`), rate, 100)
  expect(line).toMatch(/^copy-x+…x+   .*ETA 30 s$/)
})

test('in 80 columns a long name leaves room for percent, bytes, rate, the time left and failures', () => {
  const large = { failedPaths: 12, filesScanned: 10, filesMigrated: 1, filesSkipped: 1 }
  const line = liveLine(info('RUNNING', large, `copy-${'x'.repeat(60)}`), rate, 80)
  expect(line).toMatch(/^copy-x+…x+   25 %  1\.0 MiB of 4\.0 MiB  102 KiB\/s  ETA 30 s  12 failures$/)
})

test('in 80 columns many small files are told by their number, as the percentage is', () => {
  const name = `copy-${'x'.repeat(60)}`
  const small = info('RUNNING', { totalBytes: 4_000, migratedBytes: 1_000 }, name)
  expect(liveLine(small, rate, 80)).toMatch(
    /^copy-x+…x+   25 %  1,000 of 4,000 files  100 files\/s  ETA 30 s$/,
  )
})

test.for([40, 80, 100, 120, 200])('a live line fits in %d columns', (columns) => {
  expect(liveLine(info('RUNNING', { failedPaths: 12 }), rate, columns).length).toBeLessThanOrEqual(columns)
})

test('a live migration says how far it is behind; what is in the way has lines of its own', () => {
  const live = info('LIVE', { changeLagSeconds: 12.34, unscheduledEvents: 1_200, scheduledEvents: 34 })
  const line = '100 files/s  102 KiB/s  lag 12.3 s, 1,234 changes  following changes'
  expect(liveLine(live, { ...rate, etaSeconds: undefined }, 200)).toBe(`nightly  ${line}`)
  const since = '2026-02-01T22:00:00.000Z'
  const away = { reason: 'TARGET_UNREACHABLE', message: 'target: connection refused\u001b', since } as const
  const turn = {
    reason: 'WAITS_FOR_TURN',
    message: 'The limit of running migrations is reached (maxRunningMigrations)',
    since,
  } as const
  const waiting = { ...info('RUNNING'), conditions: [away, turn] }
  const text = `TARGET_UNREACHABLE since ${momentText(new Date(since))}: target: connection refused`
  expect(conditionLines(waiting)).toEqual([expect.stringContaining(`  ${text}`)])
  const terminal = testTerminal({ isTty: true, columns: 41 })
  watchView(terminal, 'table').show([seenOf(waiting, rate)])
  // All of it, in lines that fit.
  const shown = terminal.written.out.split('\n').filter((line) => line.startsWith('  '))
  expect(shown.map((line) => line.trim()).join(' ')).toContain(text)
  for (const one of shown) expect(one.length).toBeLessThanOrEqual(40)
  expect(plainLine(waiting, rate)).toContain(text)
})

test('one that is completed with failures says so, and no percentage of them', () => {
  const ended = info('COMPLETED', { failedPaths: 2 })
  const idle = { filesPerSecond: 0, bytesPerSecond: 0, etaSeconds: undefined }
  for (const line of [liveLine(ended, idle, 160), plainLine(ended, idle)]) {
    expect(line).toMatch(/  completed with 2 failures$/)
    expect(line).not.toMatch(/%|░/)
  }
  expect(liveLine(info('COMPLETED'), idle, 160)).toContain(' 100 %')
})

test.for(['RUNNING', 'STOPPING', 'STOPPED', 'SCHEDULED'] as const)(
  'a live migration whose scan is over shows no share in %s either, but its state and lag',
  (state) => {
    const baseScanCompletionTime = '2026-02-01T22:00:00.000Z'
    const live = { ...info(state, { changeLagSeconds: 12.34, unscheduledEvents: 1 }), baseScanCompletionTime }
    const paced = { ...rate, etaSeconds: undefined }
    for (const line of [liveLine(live, paced, 200), plainLine(live, paced), endLine(live)])
      expect(line).not.toMatch(/%|ETA|of 4/)
    const words = { SCHEDULED: 'waiting for its turn' } as Partial<Record<typeof state, string>>
    // Nobody knows of changes that nobody looks for.
    const lag = state === 'STOPPED' ? 'changes not followed for 12 s' : 'lag 12\\.3 s, 1 change'
    expect(liveLine(live, paced, 200)).toMatch(new RegExp(`${lag}  ${words[state] ?? state.toLowerCase()}$`))
    const off = { ...live, progress: { ...live.progress, changeDetection: 'off' as const } }
    expect(liveLine(off, paced, 200)).toContain('changes not followed for 12 s')
    expect(
      new RateMeter().add({ ...live, progress: { ...live.progress, etaEstimate: span(6) } }, 0),
    ).toMatchObject({ etaSeconds: undefined })
    const end =
      'nightly is stopped, changes not followed for 12 s; continue with: gantry migrations resume nightly'
    if (state !== 'STOPPED') return
    expect(endLine(live)).toBe(end)
    const just = { ...live, progress: { ...live.progress, changeLagSeconds: 0.9 } }
    expect(endLine(just)).toBe('nightly is stopped; continue with: gantry migrations resume nightly')
  },
)

test('what did not arrive is told as it fails, and no more once it has arrived', () => {
  const failure = {
    id: 1,
    path: '/a\u001b',
    failureMessage: 'no',
    failureClass: 'permission',
    attempts: 1,
  } as const
  const path = {
    ...failure,
    action: 'MIGRATION',
    dateFailed: '2026-02-01T22:00:00.000Z',
    timeStamp: 0,
  } as const
  const { id: migrationId, internalId, state } = info('RUNNING')
  const told = {
    ...{ migrationId, internalId, state },
    failedPathCount: 1_003,
    added: 1_002,
    addedByClass: { permission: 1_002 },
    lastFailureId: 1_003,
    failedPaths: [path, path],
  }
  expect(failuresLine(told)).toMatch(/^failed: \/a\S* \(permission\), \/a\S* \(permission\), 1,000 more$/)
  expect(failuresLine(told)).not.toContain('\u001b')
  const terminal = testTerminal({ isTty: true })
  const { written } = terminal
  const view = watchView(terminal, 'table')
  view.failed(told)
  view.show([seenOf(info('RUNNING'), rate)])
  expect(written.out).toContain('\n  failed: /a')
  view.failed({ ...told, failedPathCount: 0, added: 0, failedPaths: [] })
  written.out = ''
  view.show([seenOf(info('RUNNING'), rate)])
  expect(written.out).not.toContain('failed: ')
})

test.for([
  [info('STOPPING'), 'stopping'],
  [info('LIVE'), 'following changes'],
  [info('SCHEDULED'), 'waiting for its turn'],
  [info('RECURRENCE_SCHEDULED'), 'waiting for its turn'],
  [
    { ...info('WAITING_FOR_NEXT_RECURRENCE'), nextRecurrenceTime: '2026-02-01T22:00:00.000Z' },
    `waiting until ${momentText(new Date('2026-02-01T22:00:00.000Z'))}`,
  ],
] as const)('a live line says what it waits for: %#', ([waiting, words]) => {
  expect(liveLine(waiting, rate, 200).endsWith(`  ${words}`)).toBe(true)
})

test('the rates are those of the last seconds; the time left is by files and bytes together', () => {
  const meter = new RateMeter()
  expect(meter.add(info('RUNNING'), 0)).toEqual({
    filesPerSecond: 0,
    bytesPerSecond: 0,
    etaSeconds: undefined,
  })
  const second = meter.add(info('RUNNING', { filesMigrated: 1_900, migratedBytes: 2 * 2 ** 20 }), 1_000)
  expect(second).toEqual({ filesPerSecond: 1_000, bytesPerSecond: 2 ** 20, etaSeconds: 2 })
  // Long after, nothing has moved.
  const third = meter.add(info('RUNNING', { filesMigrated: 1_900, migratedBytes: 2 * 2 ** 20 }), 60_000)
  expect(third).toEqual({ filesPerSecond: 0, bytesPerSecond: 0, etaSeconds: undefined })
  // What follows its source has no end.
  const live = meter.add(info('LIVE', { filesMigrated: 2_900, etaEstimate: span(6) }), 61_000)
  expect(live).toMatchObject({ filesPerSecond: 1_000, etaSeconds: undefined })
})

test('a live one that only compares what is the same does not move', () => {
  const meter = new RateMeter()
  const live = info('LIVE', {
    filesMigrated: 10,
    filesSkipped: 0,
    migratedBytes: 100,
    totalMigratedBytes: 100,
  })
  meter.add(live, 0)
  const compared = { ...live.progress, filesSkipped: 20_000, migratedBytes: 2_000_100 }
  const still = { filesPerSecond: 0, bytesPerSecond: 0 }
  expect(meter.add({ ...live, progress: compared }, 1_000)).toMatchObject(still)
  const copied = { ...compared, filesMigrated: 15, migratedBytes: 2_000_600, totalMigratedBytes: 600 }
  expect(meter.add({ ...live, progress: copied }, 2_000)).toMatchObject({
    filesPerSecond: 2.5,
    bytesPerSecond: 250,
  })
})

test('a few large files under a limit do not make many small ones take long', () => {
  const meter = new RateMeter()
  const totalBytes = 200 * 2 ** 20
  meter.add(info('RUNNING', { filesMigrated: 0, migratedBytes: 0, totalBytes }), 0)
  const { etaSeconds } = meter.add(
    info('RUNNING', { filesMigrated: 10, migratedBytes: totalBytes / 2, totalBytes }),
    1_000,
  )
  expect(etaSeconds).toBeCloseTo(3.4, 0)
})

test('before everything is listed there is no percentage: it would fall', () => {
  const { migratedPercentage: _unknown, ...progress } = info('RUNNING', { filesSuperseded: 10 }).progress
  const listing = { ...info('RUNNING'), progress }
  for (const line of [liveLine(listing, rate, 200), plainLine(listing, rate)]) {
    expect(line).toContain('1,010 of 4,000 files found so far')
    expect(line).not.toMatch(/%|░/)
  }
  expect(endLine({ ...listing, state: 'STOPPED' })).toBe(
    'nightly is stopped before everything was found, at 1,010 of 4,000 files found so far; continue with: gantry migrations resume nightly',
  )
})

test.for([
  [info('STOPPED'), 'nightly is stopped at 25 %; continue with: gantry migrations resume nightly'],
  [info('STOPPED', {}, '-rf'), '-rf is stopped at 25 %; continue with: gantry migrations resume -- -rf'],
  [
    info('COMPLETED', { failedPaths: 1 }, "it's all"),
    String.raw`it's all is completed with 1 failure: 900 files (1.0 MiB) copied, 100 already at the target, in 10 s; list them with: gantry migrations failures 'it'\''s all'`,
  ],
  [
    info('COMPLETED', { filesVanished: 1_600, foldersVanished: 0 }),
    'nightly is completed: 900 files (1.0 MiB) copied, 100 already at the target, in 10 s; 1,600 files were gone from the source before they were copied; copy renamed paths with: gantry migrations add-pending-region nightly /',
  ],
  [
    { ...info('COMPLETED', { failedPaths: 1, filesVanished: 1, foldersVanished: 0 }), path: '/a b' },
    "nightly is completed with 1 failure: 900 files (1.0 MiB) copied, 100 already at the target, in 10 s; list them with: gantry migrations failures nightly; 1 file was gone from the source before it was copied; copy renamed paths with: gantry migrations add-pending-region nightly '/a b'",
  ],
] as const)('the end: %#', ([ended, line]) => expect(endLine(ended)).toBe(line))

test('on a terminal the lines are written over', () => {
  const terminal = testTerminal({ isTty: true })
  const view = watchView(terminal, 'table')
  const both = ['one', 'two'].map((id) => seenOf(info('RUNNING', {}, id), rate))
  view.show(both)
  expect(terminal.written.out.startsWith('\r\u001b[Jone ')).toBe(true)
  expect(terminal.written.out.split('\n')).toHaveLength(3)
  terminal.written.out = ''
  view.away()
  expect(terminal.written.out).toBe('\u001b[2A\r\u001b[JThe platform does not respond; retrying for 60 s.\n')
  terminal.written.out = ''
  view.show(both.slice(1))
  expect(terminal.written.out.startsWith('\u001b[1A\r\u001b[Jtwo ')).toBe(true)
  // What is said of an end stays above the others.
  view.end([seenOf(info('COMPLETED', {}, 'two'), rate)])
  terminal.written.out = ''
  view.show(both.slice(0, 1))
  expect(terminal.written.out.startsWith('\r\u001b[Jone ')).toBe(true)
})

test('in a log a line comes with a new state, and not with each look', () => {
  const terminal = testTerminal()
  const view = watchView(terminal, 'table')
  for (const state of ['RUNNING', 'RUNNING', 'STOPPING', 'STOPPING'] as const) {
    view.show([seenOf(info(state), rate)])
  }
  expect(terminal.written.out.match(/RUNNING|STOPPING/g)).toEqual(['RUNNING', 'STOPPING'])
  view.away()
  view.away()
  expect(terminal.written.err).toBe('The platform does not respond; retrying for 60 s.\n')
})

test('one that waits for approval says how to give it', () => {
  const since = '2026-02-01T22:00:00.000Z'
  const held = { reason: 'WAITS_FOR_APPROVAL', message: 'deletions exceed the limit', since } as const
  const line = endLine({ ...info('STOPPED'), conditions: [held] })
  expect(line).toContain('gantry migrations approve-deletions nightly')
  expect(line).not.toContain('resume')
})

test('a log gets a line that says the same as the one before it once, however long that takes', () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const terminal = testTerminal({ isTty: false })
  const view = watchView(terminal, 'table')
  const idle = info('WAITING_FOR_NEXT_RECURRENCE')
  for (const migratedBytes of [2 ** 20, 2 ** 20, 2 ** 21]) {
    view.show([seenOf({ ...idle, progress: { ...idle.progress, migratedBytes } }, rate)])
    vi.advanceTimersByTime(60_000)
  }
  expect(terminal.written.out.trim().split('\n')).toHaveLength(2)
})
