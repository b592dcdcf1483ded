import {
  chmodSync,
  chownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { listWithUser, setExtended, whyNoExtended } from '../../support/extended.ts'
import type { Counts } from '../../../services/engine/run/counts.ts'
import { largeFileBytes } from '../../../services/engine/items/items.ts'
import type { MoveSpec } from '../../../services/engine/mover.ts'
import type { Metadata } from '../../../subjects/migrations/model/metadata.ts'
import { mountMemory, whyNoMount } from '../../support/mounts.ts'
import { testUnless } from '../../support/unless.ts'
import { sharedMoves } from './move-folder.ts'
import { sharedTargets } from './targets.ts'

const createMove = sharedMoves()
const { createContainer } = sharedTargets()

const everything = { modes: true, owners: true, attributes: true }
const nothingNotKept = {
  timesNotKept: 0,
  modesNotKept: 0,
  ownersNotKept: 0,
  attributesNotKept: 0,
  linksNotKept: 0,
  hardLinksSplit: 0,
}

function fillOfAllSizes(at: (path: string) => string): void {
  mkdirSync(at('folder'))
  for (const path of ['folder/empty', 'folder/small', 'listed', 'plain'])
    writeFileSync(at(path), path === 'folder/empty' ? '' : path)
  writeFileSync(at('folder/large'), '')
  truncateSync(at('folder/large'), largeFileBytes + 1)
}

function makeLinks(at: (path: string) => string): void {
  mkdirSync(at('folder'))
  writeFileSync(at('file'), 'bytes')
  symlinkSync('file', at('to a file'))
  symlinkSync('folder', at('to a folder'))
}

describe('metadata in Azure', () => {
  /** What belongs to a file or folder, by what is to be kept. */
  test.each<[what: string, Partial<Metadata>, names: string[]]>([
    ['times alone', {}, ['mtime']],
    ['modes', { modes: true }, ['mtime', 'permissions']],
    ['owners', { owners: true }, ['mtime', 'posix_group', 'posix_owner']],
    [
      'modes and owners',
      { modes: true, owners: true },
      ['mtime', 'permissions', 'posix_group', 'posix_owner'],
    ],
  ])('%s are kept', async (_, kept, names) => {
    const { spec, client } = await createContainer()
    await using move = createMove()
    const paths = ['folder', 'folder/file', 'folder/empty']
    mkdirSync(move.at('from', 'folder'))
    for (const path of paths.slice(1)) writeFileSync(move.at('from', path), path.slice('folder/file'.length))
    for (const path of paths) {
      if (process.getuid?.() === 0) chownSync(move.at('from', path), 1001, 2001)
      chmodSync(move.at('from', path), 0o1740)
      utimesSync(move.at('from', path), 1, 1_234_567_890.5)
    }
    const metadata = { modes: false, owners: false, attributes: false, ...kept }
    const { counts, failures } = await move.run({}, { target: spec, metadata })
    expect(failures).toEqual([])
    expect(counts).toMatchObject(nothingNotKept)
    for (const path of paths) {
      const { mode, uid, gid } = lstatSync(move.at('from', path))
      const all: Record<string, string> = {
        mtime: '2009-02-13T23:31:30.500000000Z',
        permissions: `${mode}`,
        posix_owner: `${uid}`,
        posix_group: `${gid}`,
      }
      const { metadata: found = {} } = await client.getBlobClient(path).getProperties()
      const { hdi_isfolder: _folder, ...rest } = found
      expect(rest, path).toEqual(Object.fromEntries(names.map((name) => [name, all[name]])))
    }
  })

  /** What no container holds, and is counted. */
  const losses: {
    readonly what: string
    readonly why?: string | undefined
    readonly make: (at: (path: string) => string) => void
    readonly settings?: Partial<MoveSpec>
    readonly notKept: Partial<Counts>
  }[] = [
    {
      what: 'extended attributes and access control lists, of files empty, small and large, and of a folder',
      why: whyNoExtended(),
      make: (at) => {
        fillOfAllSizes(at)
        for (const path of ['folder', 'folder/small', 'folder/empty', 'folder/large'])
          setExtended(at(path), { 'user.x': 'x' })
        setExtended(at('listed'), { 'system.posix_acl_access': listWithUser(1001, 6) })
      },
      settings: { metadata: everything },
      notKept: { attributesNotKept: 5 },
    },
    {
      what: 'no extended attributes, where they are not to be kept',
      why: whyNoExtended(),
      make: (at) => {
        fillOfAllSizes(at)
        setExtended(at('folder/small'), { 'user.x': 'x' })
      },
      notKept: {},
    },
    {
      what: 'names of one file',
      make: (at) => {
        writeFileSync(at('one'), 'bytes')
        linkSync(at('one'), at('two'))
      },
      notKept: { hardLinksSplit: 2 },
    },
    { what: 'symbolic links', make: (at) => makeLinks(at), notKept: { linksNotKept: 2, failures: 2 } },
    {
      what: 'no symbolic links, where they are left out',
      make: (at) => makeLinks(at),
      settings: { links: 'skip' },
      notKept: { linksSkipped: 2 },
    },
    {
      what: 'no symbolic links, where what they lead to is brought',
      make: (at) => makeLinks(at),
      settings: { links: 'follow' },
      notKept: { filesMigrated: 2, foldersMigrated: 3 },
    },
  ]
  for (const { what, why, make, settings, notKept } of losses) {
    testUnless(why, `counted: ${what}`, async () => {
      const { spec } = await createContainer()
      await using move = createMove()
      make((path) => move.at('from', path))
      const { counts, failures } = await move.run({}, { target: spec, ...settings })
      expect(counts).toMatchObject({ ...nothingNotKept, failures: 0, ...notKept })
      expect(failures.map(({ failure }) => failure)).toEqual(failures.map(() => 'unsupported'))
    })
  }

  testUnless(whyNoMount(), 'counted: times that have no four digits for their year', async () => {
    using mount = mountMemory(2 ** 20)
    const { spec } = await createContainer()
    await using move = createMove()
    mkdirSync(join(mount.path, 'folder'))
    for (const path of ['folder/late', 'folder/today']) writeFileSync(join(mount.path, path), '')
    for (const path of ['folder/late', 'folder']) utimesSync(join(mount.path, path), 3e11, 3e11)
    const source = { kind: 'local', options: { fsRoot: mount.path } } as const
    const { counts, failures } = await move.run({}, { source, target: spec })
    expect(failures).toEqual([])
    expect(counts).toMatchObject({ ...nothingNotKept, timesNotKept: 2 })
  })
})
