import { expect, test } from 'vitest'
import { Trees } from '../../../services/engine/reconcile/trees.ts'

/** Compares a tree in which each folder has so many in it, down to a depth. */
function compare(
  { width, depth }: { width: number; depth: number },
  bounds: { entries: number; waiting: number },
  isDeep = true,
) {
  const compared: string[] = []
  const handedOn: string[] = []
  const trees = new Trees({ isDeep }, { tree: (folder) => void handedOn.push(folder.toString()) }, bounds)
  const list = (folder: string) => {
    trees.count(width)
    if (folder.split('/').length <= depth)
      for (let index = 0; index < width; index++) trees.add(Buffer.from(`${folder}/${index}`), 'tree')
  }
  list('top')
  for (let folders = trees.next(); folders.length > 0; folders = trees.next()) {
    for (const { folder } of folders) {
      compared.push(folder.toString())
      list(folder.toString())
    }
  }
  return { compared, handedOn }
}

const unbounded = { entries: Number.POSITIVE_INFINITY, waiting: Number.POSITIVE_INFINITY }
const tree = { width: 10, depth: 3 }

test('a comparison that is not deep hands on what is in its folders', () => {
  const { compared, handedOn } = compare({ width: 3, depth: 3 }, unbounded, false)
  expect([compared, handedOn]).toEqual([[], ['top/0', 'top/1', 'top/2']])
})

test('a deep one compares all that is below, each folder once', () => {
  const { compared, handedOn } = compare(tree, unbounded)
  expect([compared.length, new Set(compared).size, handedOn]).toEqual([1_110, 1_110, []])
})

test.each([
  { entries: 2_000, waiting: 1_000 },
  { entries: 1_000_000, waiting: 15 },
  { entries: 1, waiting: 1_000 },
])('what is beyond $entries entries or $waiting folders is handed on once', (bounds) => {
  const { compared, handedOn } = compare(tree, bounds)
  const all = [...compared, ...handedOn]
  expect(handedOn.length).toBeGreaterThan(0)
  expect(new Set(all).size).toBe(all.length)
  const isBelow = (path: string) => handedOn.some((one) => path === one || path.startsWith(`${one}/`))
  const whole = compare(tree, unbounded).compared
  expect(whole.filter((path) => !compared.includes(path) && !isBelow(path))).toEqual([])
})
