import {
  closeSync,
  ftruncateSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  openSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { Mover } from '../../../services/engine/mover.ts'
import { extendedOf, setExtended, whyNoExtended } from '../../support/extended.ts'
import { createFolder } from '../../support/migrations.ts'
import { testUnless } from '../../support/unless.ts'
import { compareAll, differences } from './compare-folder.ts'
import { drive } from './drive.ts'
import { liveSpec, localSpec } from './local-spec.ts'
import { changed, reconcile } from './reconcile-folder.ts'

const mover = new Mover({ threads: 2, log: { error: () => undefined } })
afterAll(() => mover.close())

const noExtended = whyNoExtended()

/** Builds and archives set 1970; what is near it is written and compared in the same way. */
const timesMs = {
  '1970': 0,
  'a second later': 1_000,
  'seconds before, with a fraction': -5_500.25,
  '1904': -2_082_844_800_000,
  '2023, with a fraction': 1_700_000_000_123.456,
}

/** Files that are each written in a way of their own. */
const makers: Record<string, (path: string) => void> = {
  'of one chunk': (path) => writeFileSync(path, 'content'),
  'of several chunks': (path) => writeFileSync(path, Buffer.alloc(3_000_000, 'x')),
  empty: (path) => writeFileSync(path, ''),
  sparse: (path) => {
    const fd = openSync(path, 'w')
    ftruncateSync(fd, 2_000_000)
    closeSync(fd)
  },
  'with attributes': (path) => {
    writeFileSync(path, 'content')
    if (noExtended === undefined) setExtended(path, { 'user.test': 'x' })
  },
}

/** As text Node takes times before 1970 too. */
const setTime = (path: string, ms: number) => lutimesSync(path, `${ms / 1_000}`, `${ms / 1_000}`)

/** A folder of each time with files, a folder and a link of the same time, and a large file of 1970. */
function createTimes() {
  const folder = createFolder('from', 'to')
  const files = ['large']
  const others: string[] = []
  const ms = new Map([['large', 0]])
  writeFileSync(join(folder.from, 'large'), Buffer.alloc(17 * 2 ** 20, 'x'))
  for (const [name, timeMs] of Object.entries(timesMs)) {
    const all = Object.keys(makers).map((kind) => `${name}/${kind}`)
    const rest = [`${name}/folder`, `${name}/link`, name]
    mkdirSync(join(folder.from, name, 'folder'), { recursive: true })
    symlinkSync('folder', join(folder.from, name, 'link'))
    for (const [kind, make] of Object.entries(makers)) make(join(folder.from, name, kind))
    for (const path of [...all, ...rest]) ms.set(path, timeMs)
    files.push(...all)
    others.push(...rest)
  }
  for (const [path, timeMs] of ms) setTime(join(folder.from, path), timeMs)
  return {
    folder,
    files,
    others,
    at: (path: string) => join(folder.to, path),
    /** Paths whose time at the target is another one by a microsecond or more. */
    wrong: () =>
      [...ms].filter(([path, timeMs]) => Math.abs(timeOf(join(folder.to, path)) - timeMs) >= 0.001),
    /** Gives all that is at the target the present for its time. */
    touch: () => {
      for (const path of ms.keys()) setTime(join(folder.to, path), Date.now())
    },
    [Symbol.dispose]: folder[Symbol.dispose],
  }
}

const timeOf = (path: string): number => lstatSync(path).mtimeMs

const everything = changed('', { scope: 'tree' })

test('every time arrives, of whatever it is, and is known to be there', async () => {
  using times = createTimes()
  const spec = localSpec(times.folder, { policy: 'SkipIfSizeAndTimeMatch' })
  const { counts, failures } = await drive(mover, spec)
  expect(failures).toEqual([])
  expect(times.wrong()).toEqual([])
  expect(counts).toMatchObject({ filesMigrated: times.files.length, timesNotKept: 0 })
  expect((await drive(mover, spec)).counts).toMatchObject({ filesMigrated: 0, linksMigrated: 0 })
})

test('a verification tells every other time, and another scan puts it right', async () => {
  using times = createTimes()
  const spec = localSpec(times.folder, { policy: 'SkipIfSizeAndTimeMatch' })
  await drive(mover, spec)
  times.touch()
  const mismatches = (result: string, paths: string[]) => paths.map((path) => `${result} /${path}`)
  const files = mismatches('TIME_MISMATCH', times.files)
  const others = mismatches('METADATA_MISMATCH', times.others)
  const found = async (level: 'time' | 'metadata') => differences(await compareAll(mover, spec, { level }))
  expect(await found('time')).toEqual(files.toSorted())
  expect(await found('metadata')).toEqual([...files, ...others].toSorted())
  await drive(mover, spec)
  expect(times.wrong()).toEqual([])
  expect(await found('metadata')).toEqual([])
})

test('a live migration brings every time, and puts right another', async () => {
  using times = createTimes()
  const spec = liveSpec(times.folder)
  const { failures, again } = await reconcile(mover, spec, [everything])
  expect([failures, again]).toEqual([[], []])
  expect(times.wrong()).toEqual([])
  expect(differences(await compareAll(mover, spec, { level: 'metadata' }))).toEqual([])
  times.touch()
  await reconcile(mover, spec, [everything])
  expect(times.wrong()).toEqual([])
})

testUnless(noExtended, 'attributes that are set later leave every time as it is', async () => {
  using times = createTimes()
  const spec = liveSpec(times.folder, { metadata: { modes: true, owners: true, attributes: true } })
  await reconcile(mover, spec, [everything])
  const path = '1970/of one chunk'
  setExtended(join(times.folder.from, path), { 'user.test': 'late' })
  await reconcile(mover, spec, [changed('1970', { names: ['of one chunk'] })])
  expect(extendedOf(times.at(path))).toMatchObject({ 'user.test': Buffer.from('late').toString('hex') })
  expect(times.wrong()).toEqual([])
})
