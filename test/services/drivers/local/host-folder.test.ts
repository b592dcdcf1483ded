import { mkdirSync } from 'node:fs'
import { expect, test } from 'vitest'
import { hostFolder } from '../../../../services/drivers/local/host-folder.ts'
import { holds } from '../../../../services/drivers/contract/location.ts'
import { kernelInterfaceIn, parseMounts } from '../../../../services/drivers/local/mounts.ts'
import { locate } from '../../../../services/migrations/places/asked-drivers.ts'
import { areNested, requireApart } from '../../../../services/migrations/places/overlap.ts'
import { createFolder } from '../../../support/migrations.ts'
import { mountAgain, whyNoMount } from '../../../support/mounts.ts'
import { testUnless } from '../../../support/unless.ts'

/** As `/proc/self/mountinfo` has it: a disk, two mounts that hide each other, and parts of the disk elsewhere. */
const table = [
  '20 1 8:1 / / rw - ext4 /dev/sda1 rw',
  '21 20 0:22 / /proc rw shared:12 - proc proc rw',
  '30 20 8:2 / /srv/inner rw - ext4 /dev/sdb1 rw',
  '31 20 8:3 / /srv rw - ext4 /dev/sdc1 rw',
  String.raw`40 20 8:1 /data/in /mnt/an\040other rw - ext4 /dev/sda1 rw`,
  '41 20 8:1 /data /mnt/data rw - ext4 /dev/sda1 rw',
  '50 20 8:3 /shared /home/me/shared rw - ext4 /dev/sdc1 rw',
].join('\n')

test.each<[one: string, isIn: string, expected: boolean]>([
  ['/data', '/data', true],
  ['/data', '/data/in', true],
  ['/data/in', '/data', false],
  ['/data', '/database', false],
  ['/', '/data', true],
  // The same file system at another place.
  ['/data', '/mnt/an other', true],
  ['/data', '/mnt/an other/not there yet', true],
  ['/data/in', '/mnt/data', false],
  ['/mnt/data', '/data/in', true],
  ['/mnt/data/in/x', '/mnt/an other/x', true],
  // What is mounted somewhere in a folder is in it, and what is not on the same disk is not.
  ['/home', '/srv/shared/x', true],
  ['/srv', '/home/me/shared', true],
  ['/srv', '/home/me', false],
  ['/mnt', '/data/in/x', true],
  // The second mount hides the first.
  ['/srv/inner', '/srv/inner', true],
  ['/srv', '/srv/inner', true],
])('%s holds %s: %s', (one, other, expected) => {
  const folder = (path: string) => hostFolder(Buffer.from(path), table)
  expect(holds(folder(one), folder(other))).toBe(expected)
})

test.each<[folder: string, expected: string | undefined]>([
  ['/proc', 'proc at /proc'],
  ['/proc/self', 'proc at /proc'],
  ['/', 'proc at /proc'],
  ['/dev', 'devtmpfs at /dev'],
  ['/dev/shm', undefined],
  ['/dev/shm/data', undefined],
  ['/processes', undefined],
  ['/srv', undefined],
])('of the kernel is in %s: %s', (folder, expected) => {
  const memory = ['60 20 0:6 / /dev rw - devtmpfs devtmpfs rw', '61 60 0:23 / /dev/shm rw - tmpfs tmpfs rw']
  const found = kernelInterfaceIn(parseMounts([table, ...memory].join('\n')), Buffer.from(folder))
  expect(found && `${found.type} at ${found.place.toString()}`).toBe(expected)
})

test('where the system has no such table, paths say it', () => {
  const interfaceIn = (path: string) => kernelInterfaceIn([], Buffer.from(path))?.place.toString()
  expect(['/proc/self', '/dev', '/processes'].map(interfaceIn)).toEqual(['/proc', '/dev', undefined])
  const folder = (path: string) => hostFolder(Buffer.from(path), '')
  expect(holds(folder('/data'), folder('/data/in'))).toBe(true)
  expect(holds(folder('/data'), folder('/database'))).toBe(false)
})

testUnless(whyNoMount(), 'a migration into its own source is refused, wherever that is mounted', async () => {
  using folder = createFolder('source', 'again', 'apart', 'part of it')
  for (const path of [`${folder.source}/in`, `${folder.source}/door`, `${folder.apart}/in`]) mkdirSync(path)
  using _whole = mountAgain(folder.source, folder.again)
  using _part = mountAgain(`${folder.source}/in`, folder['part of it'])
  using _door = mountAgain(`${folder.apart}/in`, `${folder.source}/door`)
  const at = (fsRoot: string) => locate({ kind: 'local', options: { fsRoot } }, '/')
  const into = (target: string) =>
    requireApart({ locate: at }, { source: folder.source, path: '/', target, targets: ['/'] })
  for (const [target, relation] of [
    [folder.again, 'is the same folder as'],
    [`${folder.again}/in`, 'is inside'],
    [folder['part of it'], 'is inside'],
    [`${folder.apart}/in`, 'is inside'],
    [folder.root, 'contains'],
  ] as const) {
    await expect(into(target), target).rejects.toThrow(`/ in ${target} ${relation} / in ${folder.source}`)
  }
  await into(folder.apart)
  expect(areNested(await at(folder['part of it']), await at(folder.source))).toBe(true)
  expect(areNested(await at(folder['part of it']), await at(folder.apart))).toBe(false)
})
