import { expect, test } from 'vitest'
import { durationText, sizeText } from '../../cli/format.ts'
import { present } from '../../cli/present.ts'
import type { Contract } from '../../subjects/contract.ts'
import { resources } from '../../subjects/index.ts'
import { testTerminal } from './support.ts'

function shown(
  contract: Contract,
  reply: unknown,
  { json = false, isTty = false, columns = 100, input = {} } = {},
) {
  const terminal = testTerminal({ isTty, columns })
  present(terminal, contract, reply, { json, input })
  return terminal.written
}

const { filesystems, migrations, keys } = resources
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
