import { expect, test } from 'vitest'
import {
  decodeName,
  documentFile,
  documentName,
  encodeName,
} from '../../../../../services/metadata/catalogs/filesystem/document-names.ts'

test.each([
  ['sales', 'sales'],
  ['Größe', 'Größe'],
  ['day=2026-11-25', 'day=2026-11-25'],
  ['a/b', 'a%2Fb'],
  ['50%', '50%25'],
  ['.git', '%2Egit'],
  ['..', '%2E%2E'],
  ['v1.2', 'v1.2'],
  ['end.', 'end%2E'],
  ['two words', 'two%20words'],
  ['a:b*c\\d', 'a%3Ab%2Ac%5Cd'],
  ['line\nbreak', 'line%0Abreak'],
  ['👍', '%F0%9F%91%8D'],
  // The same letter in the form that some file systems make another one of.
  ['Gro\u0308ße', 'Gro%CC%88%C3%9Fe'],
])('%j is %s, and back', (name, encoded) => {
  expect(encodeName(name)).toBe(encoded)
  expect(decodeName(encoded)).toBe(name)
  expect(documentName(documentFile(name))).toBe(name)
})

test.each(['.git', '%2egit', '%61', '%FF', 'a%', 'a b', '', '.gantry-put-1'])('%j is no name', (encoded) => {
  expect(decodeName(encoded)).toBeUndefined()
})

test.each(['README.md', '.json', 'orders.JSON', '.orders.json'])('%s is no document', (file) => {
  expect(documentName(file)).toBeUndefined()
})
