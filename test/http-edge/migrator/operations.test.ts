import { expect, test } from 'vitest'
import { notBuilt } from '../../../http-edge/migrator/not-built.ts'
import { operations } from '../../../http-edge/migrator/operations.ts'
import { allOperations } from './all-operations.ts'

/** Whatever its fields are called; sources and targets are two roles of one operation where the surface has one. */
const shapeOf = (operation: string): string => operation.replaceAll(/\{[^}]*\}/g, '{}')
const shapes = operations.flatMap(({ method, path }) => {
  const shape = shapeOf(`${method} ${path}`)
  return [shape, shape.replace(/ \/fs\/(?:sources|targets)\//, ' /fs/{}/')]
})
const built = new Set(shapes)

test('each operation of the surface is built, or among those that are not', () => {
  const missing = new Set(notBuilt.map(shapeOf))
  const undecided = allOperations.filter((one) => built.has(shapeOf(one)) === missing.has(shapeOf(one)))
  expect(undecided).toEqual([])
  const known = new Set(allOperations.map(shapeOf))
  expect([...missing].filter((one) => !known.has(one))).toEqual([])
})

test('what is not built becomes less, never more', () => {
  expect(notBuilt.length).toBeLessThanOrEqual(96)
})

test('no two operations have the same method and path', () => {
  const paths = operations.map(({ method, path }) => shapeOf(`${method} ${path}`))
  expect(paths.filter((path, index) => paths.indexOf(path) !== index)).toEqual([])
})
