import { expect, test } from 'vitest'
import { durationText, sizeText } from '../../../cli/output/format.ts'
import { report } from '../../../cli/failure.ts'
import { present } from '../../../cli/output/present.ts'
import type { Contract } from '../../../subjects/kit/contract.ts'
import { GantryError } from '../../../subjects/kit/errors.ts'
import { resources } from '../../../subjects/index.ts'
import { testTerminal } from '../support.ts'

function shown(
  contract: Contract,
  reply: unknown,
  { json = false, isTty = false, columns = 100, input = {} } = {},
) {
  const terminal = testTerminal({ isTty, columns })
  present(terminal, contract, reply, { json, input })
  return terminal.written
}

const { audit, filesystems, migrations, keys } = resources
const file = { path: '/a b', isDirectory: false, length: 1536, modificationTime: Date.UTC(2026, 0, 2) }

test('a list is a table, with sizes and moments for people', () => {
  const { out } = shown(filesystems['list-paths'], [
    file,
    { ...file, path: '/c', isDirectory: true, length: 0 },
  ])
  const [head, first, second, ...rest] = out.split('\n')
  expect(head).toBe('path  isDirectory  length   modificationTime')
  expect(first).toMatch(/^\/a b {2}no {11}1\.5 KiB {2}2026-01-0\d \d\d:00:00$/)
  expect(second).toMatch(/^\/c {4}yes {10}0 B/)
  expect(rest).toEqual([''])
})

test('--json is exactly the reply: in one line for programs, in several on a terminal', () => {
  expect(shown(filesystems['list-paths'], [file], { json: true }).out).toBe(`${JSON.stringify([file])}\n`)
  expect(JSON.parse(shown(filesystems['list-paths'], [file], { json: true, isTty: true }).out)).toEqual([
    file,
  ])
})

test('a list shows the columns that its contract names', () => {
  const key = { id: 'k1', name: 'n', notes: 'not shown', owner: 'o', kind: 'key' }
  expect(shown(keys.list, [key]).out.split('\n')[0]?.split(/ +/)).toEqual(keys.list.cli?.columns)
})

test('an empty list and an empty reply say so', () => {
  expect(shown(keys.list, []).out).toBe('none\n')
  expect(shown(audit.list, { records: [] }).out).toBe('none\n')
  expect(shown(migrations.delete, {}).out).toBe('done\n')
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

test('on a terminal a row is one line; for programs nothing is cut', () => {
  const long = { ...file, path: `/${'x'.repeat(300)}` }
  const cut = shown(filesystems['list-paths'], [long], { isTty: true, columns: 80 }).out
  expect(cut).toContain('…')
  expect(Math.max(...cut.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80)
  expect(shown(filesystems['list-paths'], [long]).out).toContain(long.path)
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
  const { out } = shown(odd, { [tricks]: tricks }, { json: true, isTty: true })
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
    for (const json of [true, false])
      expect(() => shown(odd, reply, { json })).toThrow(
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
