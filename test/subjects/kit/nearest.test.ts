import { expect, test } from 'vitest'
import { nearest } from '../../../subjects/kit/nearest.ts'

const known = ['max_mem', 'max_file', 'port', 'websocket_port', 'sourceFileSystem']

test.each([
  ['max_flie', 'max_file'],
  ['maxfile', 'max_file'],
  ['MAX_MEM', 'max_mem'],
  ['sourcefilesystem', 'sourceFileSystem'],
  ['sourceFilesytem', 'sourceFileSystem'],
])('%s: likely %s', (name, meant) => expect(nearest(name, known)).toBe(meant))

test.each(['path', 'target', 'x', ''])('%j: no name is near', (name) =>
  expect(nearest(name, known)).toBeUndefined(),
)
