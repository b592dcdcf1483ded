import { mkdirSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { StoreError } from '../../../../../services/drivers/contract/driver.ts'
import { bornAt, knowsBirths, markText, mountsAt } from '../../../../../services/drivers/local/place/marks.ts'
import {
  differenceOf,
  type FolderIdentity,
  newMounts,
} from '../../../../../services/migrations/lifecycle/source-identity.ts'
import { createFolder } from '../../../../support/migrations.ts'
import { sourceAt } from '../../../../support/source-at.ts'
import { mountAgain, mountMemory, whyNoMount } from '../../../../support/mounts.ts'
import { testUnless } from '../../../../support/unless.ts'

const isRight = (path: string, mark: string): boolean => {
  try {
    sourceAt(path).require(mark)
    return true
  } catch (error) {
    expect(error).toBeInstanceOf(StoreError)
    expect(error).toMatchObject({ failure: 'unreachable', side: 'source' })
    return false
  }
}

const look = async (path: string) => {
  const now = await sourceAt(path).look()
  if (now === undefined) throw new Error(`${path} is not there`)
  return now
}

test('what is done in a source does not make it another one; a folder in its place does, until it is back', async () => {
  using folder = createFolder('from')
  const path = folder.from
  mkdirSync(join(folder.from, 'below'))
  const { identity, mark } = await look(folder.from)
  const isSame = async () =>
    differenceOf(path, identity, (await look(folder.from)).identity) === undefined && isRight(path, mark)

  writeFileSync(join(folder.from, 'file'), 'x')
  rmSync(join(folder.from, 'below'), { recursive: true })
  mkdirSync(join(folder.from, 'below'))
  utimesSync(folder.from, 1, 1)
  expect(await isSame()).toBe(true)

  renameSync(folder.from, `${folder.from}-away`)
  expect(isRight(path, mark)).toBe(false)
  expect(differenceOf(path, identity, undefined)).toBe(`its folder ${folder.from} does not exist`)
  mkdirSync(folder.from)
  expect(await isSame()).toBe(false)
  rmSync(folder.from, { recursive: true })
  renameSync(`${folder.from}-away`, folder.from)
  expect(await isSame()).toBe(true)
})

test('what another folder has, or another file system, is told', () => {
  const was = { type: 'ext4', fileSystem: 'a-uuid', inode: '2', born: '1700000000000000000' }
  const mounts = [{ path: '/volume', is: was }]
  const told = (now: object) => differenceOf('/data', { root: was, mounts }, { root: was, mounts, ...now })
  expect(told({})).toBeUndefined()
  // Not all that is known of a folder is known at any time.
  expect(told({ root: { type: 'ext4', inode: '2' } })).toBeUndefined()
  expect(told({ root: { ...was, inode: '3' } })).toBe(
    'its folder /data is a different folder: it was ext4 a-uuid, inode 2, created 2023-11-14T22:13:20.000Z; it is ext4 a-uuid, inode 3, created 2023-11-14T22:13:20.000Z',
  )
  for (const other of [{ type: 'xfs' }, { fileSystem: 'another' }, { born: '1700000000000000001' }])
    expect(told({ root: { ...was, ...other } })).toContain('/data is a different folder')
  expect(told({ mounts: [] })).toContain('nothing is mounted at /volume; it was ext4 a-uuid')
  expect(told({ mounts: [{ path: '/volume', is: { ...was, inode: '3' } }] })).toContain(
    'a different file system is mounted at /volume',
  )
})

test('mounts that the system makes by itself, hidden ones, and triggers are told apart', () => {
  const table = [
    '20 1 8:1 / / rw - ext4 /dev/sda1 rw',
    '21 20 0:50 / /data rw shared:1 - nfs4 server:/export rw',
    '22 21 0:51 / /data/projects rw shared:1 - nfs4 server:/export/projects rw',
    '23 21 0:52 / /data/other rw shared:1 - nfs4 elsewhere:/export rw',
    '24 21 0:53 / /data/home rw - autofs auto.home rw',
    '25 24 0:54 / /data/home/me rw - nfs4 homes:/me rw',
    '30 21 8:2 / /data/hidden/inner rw - ext4 /dev/sdb1 rw',
    '31 21 8:3 / /data/hidden rw - ext4 /dev/sdc1 rw',
  ].join('\n')
  const data = Buffer.from('/data')
  const { own, below } = mountsAt(data, data, table)
  expect(own?.source).toBe('server:/export')
  expect(below.map(({ at, isAutomatic }) => [at.toString(), isAutomatic])).toEqual([
    ['data/projects', true],
    ['data/other', false],
    ['data/home/me', true],
    ['data/hidden', false],
  ])
})

testUnless(
  whyNoMount(),
  'a file system below a source is known by what it is, whatever number its device has',
  async () => {
    using folder = createFolder('from')
    using volume = mountMemory(1024 * 1024)
    const path = folder.from
    const at = join(folder.from, 'a volume')
    mkdirSync(at)
    const bare = await look(folder.from)
    const mounted = mountAgain(volume.path, at)
    expect(sourceAt(path).mountedBelow()).toEqual([at])
    const { identity, mark } = await look(folder.from)
    expect(newMounts(bare.identity, identity)).toMatchObject([{ path: '/a volume', is: { type: 'tmpfs' } }])
    expect(differenceOf(path, bare.identity, identity)).toBeUndefined()

    mounted[Symbol.dispose]()
    expect(isRight(path, mark)).toBe(false)
    expect(differenceOf(path, identity, (await look(folder.from)).identity)).toContain('/a volume')
    // Another file system of the same kind, with the same numbers of files.
    using other = mountMemory(1024 * 1024)
    using _again = mountAgain(other.path, at)
    expect(differenceOf(path, identity, (await look(folder.from)).identity)).toContain(
      'a different file system is mounted at /a volume',
    )
  },
)

test('where the system does not know when files are made, nothing is taken for another one because of that', () => {
  // Without statx(2) the time of the last change stands in for that of creation.
  const changed = 1_700_000_000_000_000_000n
  expect(knowsBirths({ birthtimeNs: 0n, ctimeNs: changed })).toBe(true)
  const proc = { birthtimeNs: changed, ctimeNs: changed }
  expect(knowsBirths(proc)).toBe(false)
  expect(bornAt(proc, knowsBirths(proc))).toBeUndefined()
  using folder = createFolder('from')
  const look = () => statSync(folder.from, { bigint: true })
  const asWithout = (stats: ReturnType<typeof look>) => Object.assign(stats, { birthtimeNs: stats.ctimeNs })
  const mounts = mountsAt(Buffer.from(folder.from), Buffer.from(folder.from), '')
  const before = asWithout(look())
  // The system counts time in ticks of some milliseconds.
  for (let made = 0; look().ctimeNs === before.ctimeNs; made++)
    writeFileSync(join(folder.from, `file${made}`), 'x')
  const after = asWithout(look())
  expect(markText(after, mounts, false)).toBe(markText(before, mounts, false))
  // The kind of file system is not known without a table of mounts.
  const was = { type: '', inode: '2' }
  const told = (is: FolderIdentity) =>
    differenceOf('/data', { root: was, mounts: [] }, { root: is, mounts: [] })
  expect(told({ type: 'ext4', inode: '2' })).toBeUndefined()
  expect(told({ type: 'ext4', inode: '3' })).toContain('a different folder')
})
