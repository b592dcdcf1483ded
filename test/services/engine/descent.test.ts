import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { Descent } from '../../../services/engine/items/descent.ts'
import { randomBelow, seededRandom } from '../../support/random.ts'

/** Folders by their path: each has so many in it, down to a depth. */
const childrenOf = (path: string, { width, depth }: { width: number; depth: number }): string[] =>
  path.split('/').length > depth ? [] : Array.from({ length: width }, (_, index) => `${index}`)

/** Goes down such a tree, some folders at a time; tells what was listed and what was handed on. */
async function descend(
  tree: { width: number; depth: number },
  bounds: { entries: number; waiting: number },
  { isDeep = true, atOnce = 1, pause = (): Promise<unknown> => Promise.resolve() } = {},
) {
  const listed: string[] = []
  const handedOn: string[] = []
  let waiting = 0
  let mostWaiting = 0
  const descent = new Descent(
    { isDeep, groups: [{ parent: Buffer.from('top'), names: ['a', 'b'].map((name) => Buffer.from(name)) }] },
    (parent, name) => handedOn.push(`${parent.toString()}/${name.toString()}`),
    bounds,
  )
  await descent.each(atOnce, async ({ path, isFound }, turn) => {
    if (isFound) waiting--
    await pause()
    await turn
    listed.push(path.toString())
    const parent = path
    const names = childrenOf(path.toString(), tree)
    descent.count(names.length)
    const before = handedOn.length
    for (const name of names) descent.found(parent, Buffer.from(name), undefined)
    waiting += names.length - (handedOn.length - before)
    mostWaiting = Math.max(mostWaiting, waiting)
  })
  return { listed, handedOn, mostWaiting }
}

const unbounded = { entries: Number.POSITIVE_INFINITY, waiting: Number.POSITIVE_INFINITY }

test('an item that is not deep lists its own folders, in order, and hands on what is in them', async () => {
  const { listed, handedOn } = await descend({ width: 2, depth: 5 }, unbounded, { isDeep: false })
  expect([listed, handedOn]).toEqual([
    ['top/a', 'top/b'],
    ['top/a/0', 'top/a/1', 'top/b/0', 'top/b/1'],
  ])
})

test('a deep one lists all that is below, the last found first: what waits are the siblings on the way', async () => {
  const { listed, handedOn, mostWaiting } = await descend({ width: 10, depth: 4 }, unbounded)
  expect([listed.length, new Set(listed).size, handedOn]).toEqual([2 * 1_111, 2 * 1_111, []])
  expect(listed.slice(0, 4)).toEqual(['top/a', 'top/a/9', 'top/a/9/9', 'top/a/9/9/9'])
  expect(mostWaiting).toBeLessThan(40)
})

test.each([1, 7])('what is beyond the bounds is handed on once, %i at a time', async (atOnce) => {
  const tree = { width: 10, depth: 4 }
  const whole = new Set((await descend(tree, unbounded)).listed)
  for (const bounds of [
    { entries: 300, waiting: 1_000 },
    { entries: 1_000_000, waiting: 15 },
    { entries: 1, waiting: 1_000 },
  ]) {
    const { listed, handedOn } = await descend(tree, bounds, { atOnce })
    const all = [...listed, ...handedOn]
    expect(handedOn.length).toBeGreaterThan(0)
    expect(new Set(all).size).toBe(all.length)
    // What is below those handed on is found by whoever gets them.
    const isBelow = (path: string) => handedOn.some((one) => path === one || path.startsWith(`${one}/`))
    expect([...whole].filter((path) => !listed.includes(path) && !isBelow(path))).toEqual([])
  }
})

test.each([1, 7])(
  'one that comes again does the same, however long each folder takes, %i at a time',
  async (atOnce) => {
    const random = seededRandom(7)
    const pause = async () => {
      for (let turns = randomBelow(random, 20); turns > 0; turns--) await nextTurn()
    }
    const again = async () => {
      const { listed, handedOn } = await descend(
        { width: 7, depth: 5 },
        { entries: 200, waiting: 12 },
        { atOnce, pause },
      )
      return { listed, handedOn }
    }
    expect(await again()).toEqual(await again())
  },
)
