import { expect, test } from 'vitest'
import {
  listedAtOnce,
  ListedObjects,
  namedBeforeListing,
} from '../../../../services/drivers/gcs/listed-objects.ts'

const what = () => 'read'
const keyOf = (folder: string, index: number) => `${folder}/${String(index).padStart(6, '0')}`
const objectAt = (key: string) => ({ key })

/** Folders of many objects, and from where they were listed. */
function createListed() {
  const listings: string[] = []
  const counts: number[] = []
  const listed = new ListedObjects(async (prefix, from, count) => {
    listings.push(from)
    counts.push(count)
    const first = Number(from.slice(prefix.length))
    return Array.from({ length: count }, (_, index) => objectAt(keyOf(prefix.slice(0, -1), first + index)))
  })
  const take = async (folder: string, indices: readonly number[]) => {
    for (const index of indices) await listed.take(keyOf(folder, index), what)
  }
  return { listings, counts, listed, take }
}

const firstFiles = Array.from({ length: namedBeforeListing }, (_, index) => index)

test('an object is known once, and only that of the key', async () => {
  const { listed, take } = createListed()
  await take('a', firstFiles)
  const key = keyOf('a', 100)
  expect(await listed.take(key, what)).toEqual(objectAt(key))
  expect(await listed.take(key, what)).toBeUndefined()
  expect(await listed.take(keyOf('a', 101), what)).toEqual(objectAt(keyOf('a', 101)))
})

test('what was announced comes by one listing with the first that is asked for', async () => {
  const { listings, counts, listed } = createListed()
  const keys = Array.from({ length: 2 * listedAtOnce }, (_, index) => keyOf('a', index))
  listed.announce(keys)
  expect(listings).toEqual([])
  const taken = await Promise.all(keys.toReversed().map((key) => listed.take(key, what)))
  expect(taken).toEqual(keys.toReversed().map(objectAt))
  expect(listings).toEqual([keys[0]])
  expect(counts).toEqual([keys.length])
})

test('so few that a listing saves nothing are asked for by name, and so is what no listing has', async () => {
  const { listings, listed } = createListed()
  const few = firstFiles.map((index) => keyOf('few', index))
  listed.announce(few)
  for (const key of few) expect(await listed.take(key, what)).toBeUndefined()
  expect(listings).toEqual([])
  const apart = Array.from({ length: 10 }, (_, index) => keyOf('apart', 1_000 * index))
  listed.announce(apart)
  expect(await listed.take(apart[1]!, what)).toBeUndefined()
  expect(await listed.take(apart[0]!, what)).toEqual(objectAt(apart[0]!))
  expect(listings).toEqual([apart[0]])
})

test('far from each other, files of a folder are listed no more often than every few', async () => {
  const { listings, take } = createListed()
  const count = 1_000
  await take(
    'a',
    Array.from({ length: count }, (_, index) => index * 1_000),
  )
  expect(listings.length).toBeLessThanOrEqual(count / namedBeforeListing)
})

test('what nobody comes for is forgotten', async () => {
  const { listed, take } = createListed()
  await take('a', [...firstFiles, 100])
  for (let folder = 0; folder < 100; folder++) await take(`b${folder}`, [...firstFiles, 100])
  expect(await listed.take(keyOf('a', 101), what)).toBeUndefined()
  expect(await listed.take(keyOf('b99', 101), what)).toEqual(objectAt(keyOf('b99', 101)))
})

test('a listing that fails leaves all to be asked for by name', async () => {
  const listed = new ListedObjects(async () => {
    throw new Error('not now')
  })
  for (let index = 0; index < 3 * namedBeforeListing; index++)
    expect(await listed.take(keyOf('a', index), what)).toBeUndefined()
})
