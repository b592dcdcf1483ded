import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { folded } from '../../../services/drivers/local/exact-names.ts'
import { LocalDriver } from '../../../services/drivers/local/local.ts'
import { whileLocked } from '../../../services/drivers/local/write/name-lock.ts'
import { largeFileBytes } from '../../../services/engine/items/items.ts'
import { intoTrash } from '../../../services/engine/tree/trash.ts'
import { trashFolder } from '../../../subjects/migrations/model/plan-terms.ts'
import { mountFolding, whyNoFolding } from '../../support/mounts.ts'
import { testUnless } from '../../support/unless.ts'
import { sharedMoves } from './move-folder.ts'
import { changed, reconcile } from './reconcile-folder.ts'

const createMove = sharedMoves()
const noFolding = whyNoFolding()

/** Names of a folder that differ by case, written in one order and in the other. */
const pairs = [
  ['Name', 'name'],
  ['b.TXT', 'B.txt'],
] as const

testUnless(
  noFolding,
  'where the target takes names that differ by case for one, the second is a failure, and the first stays as it is',
  async () => {
    using mount = mountFolding()
    await using move = createMove({ target: { kind: 'local', options: { fsRoot: mount.path } } })
    for (const name of pairs.flat()) writeFileSync(join(move.from, name), `content of ${name}`)
    for (const name of ['Folder', 'folder']) {
      mkdirSync(join(move.from, name))
      writeFileSync(join(move.from, name, 'inside'), `inside ${name}`)
    }
    writeFileSync(join(move.from, 'other'), 'x')
    const { failures, counts } = await move.run()
    expect(failures.map(({ failure }) => failure)).toEqual(['collision', 'collision', 'collision'])
    const failed = failures.map(({ path }) => path.slice(1))
    expect(failures[0]?.message).toMatch(
      /^target: '\/(Name|name|b.TXT|B.txt|Folder|folder)' is already there, and .* only by case .*: rename/,
    )
    expect(counts.filesMigrated).toBe(4)
    const names = readdirSync(mount.path).toSorted()
    expect([...names, ...failed].toSorted()).toEqual(
      [...pairs.flat(), 'Folder', 'folder', 'other'].toSorted(),
    )
    for (const name of names.filter((one) => pairs.flat().includes(one as 'Name')))
      expect(readFileSync(join(mount.path, name), 'utf8')).toBe(`content of ${name}`)
    const folder = names.find((name) => name.toLowerCase() === 'folder')!
    expect(readFileSync(join(mount.path, folder, 'inside'), 'utf8')).toBe(`inside ${folder}`)
    // Once more: what is there is replaced under its own name, and by nothing else.
    const again = await move.run()
    expect(again.failures.map(({ path }) => path.slice(1)).toSorted()).toEqual(failed.toSorted())
    expect(readdirSync(mount.path).toSorted()).toEqual(names)
  },
)

testUnless(
  noFolding,
  'of two large files whose names differ by case one arrives whole, and the other is a failure, though both are written at once',
  async () => {
    using mount = mountFolding(128 * 1024 * 1024)
    await using move = createMove({ target: { kind: 'local', options: { fsRoot: mount.path } } })
    const contentOf = (name: string) => Buffer.alloc(largeFileBytes + 1, name)
    for (const name of ['Large', 'large']) writeFileSync(join(move.from, name), contentOf(name))
    const { failures, counts } = await move.run()
    expect(failures.map(({ failure }) => failure)).toEqual(['collision'])
    expect(counts.filesMigrated).toBe(1)
    const [name = '', ...others] = readdirSync(mount.path)
    expect([name, failures[0]!.path.slice(1), ...others].toSorted()).toEqual(['Large', 'large'])
    expect(readFileSync(join(mount.path, name)).equals(contentOf(name))).toBe(true)
  },
)

for (const [how, group] of [
  ['that is told', changed('', { names: ['Name', 'name'], trees: ['Folder', 'folder'] })],
  ['that a comparison finds', changed('', { scope: 'tree' })],
] as const)
  for (const side of ['source', 'target'] as const)
    testUnless(
      noFolding,
      `a change of the case of a name alone, ${how}, is made at a live target, where the ${side} does not tell the two apart`,
      async () => {
        using mount = mountFolding()
        const folder = { kind: 'local', options: { fsRoot: mount.path } } as const
        await using move = createMove({ [side]: folder })
        const [from, to] = side === 'source' ? [mount.path, move.to] : [move.from, mount.path]
        const spec = { ...move.spec, live: { startedMs: Date.now() - 60_000 } }
        const compare = (all: typeof group) => reconcile(move.mover, spec, [all])
        writeFileSync(join(from, 'Name'), 'content')
        mkdirSync(join(from, 'Folder'))
        writeFileSync(join(from, 'Folder', 'inside'), 'inside')
        // Of what was written a moment ago the next comparison takes care.
        for (const path of [['Name'], ['Folder', 'inside']]) utimesSync(join(from, ...path), 1, 1)
        await compare(changed('', { scope: 'tree' }))
        expect(readdirSync(to).toSorted()).toEqual(['Folder', 'Name'])
        for (const [old, name] of [
          ['Name', 'name'],
          ['Folder', 'folder'],
        ] as const)
          renameSync(join(from, old), join(from, name))
        const { failures, again } = await compare(group)
        expect([failures, again]).toEqual([[], []])
        expect(readdirSync(to).toSorted()).toEqual(['folder', 'name'])
        expect(readFileSync(join(to, 'name'), 'utf8')).toBe('content')
        expect(readFileSync(join(to, 'folder', 'inside'), 'utf8')).toBe('inside')
      },
    )

testUnless(
  noFolding,
  'what is renamed takes the place of nothing that is named otherwise, and goes into the trash beside it',
  async () => {
    using mount = mountFolding()
    const driver = new LocalDriver({ fsRoot: mount.path }, true)
    const [own, other, third] = ['Kept', 'kept', 'third'].map((name) => Buffer.from(name))
    await driver.put(own!, Buffer.from('kept'), {})
    await driver.put(third!, Buffer.from('third'), {})
    await expect(driver.rename(third!, other!)).rejects.toMatchObject({
      failure: 'collision',
      message: expect.stringContaining("'/Kept'"),
    })
    await expect(driver.rename(other!, Buffer.from('x'))).rejects.toMatchObject({ failure: 'gone' })
    await driver.rename(own!, other!)
    expect(readdirSync(mount.path).toSorted()).toEqual(['kept', 'third'])
    const trash = intoTrash(driver, 'job', { goesWhole: true })
    await trash(other!, { type: 'file' })
    await driver.put(own!, Buffer.from('Kept'), {})
    await trash(own!, { type: 'file' })
    const kept = join(mount.path, trashFolder, 'job')
    const contents = readdirSync(kept).map((name) => [name, readFileSync(join(kept, name), 'utf8')])
    expect(Object.fromEntries(contents)).toEqual({ kept: 'kept', 'Kept~2': 'Kept' })
    await driver.close()
  },
)

testUnless(
  noFolding,
  'what is named otherwise is neither seen, nor removed, nor given anything',
  async () => {
    using mount = mountFolding()
    const driver = new LocalDriver({ fsRoot: mount.path }, true)
    const [own, other] = [Buffer.from('Kept'), Buffer.from('kept')]
    await driver.put(own, Buffer.from('kept'), {})
    expect(await driver.stat(other)).toBeUndefined()
    expect(await driver.version(other)).toBeUndefined()
    expect(await driver.remove(other)).toBe(false)
    for (const refused of [
      driver.put(other, Buffer.from('lost'), {}),
      driver.makeFolder(other, {}),
      driver.beginUpload(other, { sizeBytes: 1, tag: 'test', attributes: {} }),
    ])
      await expect(refused).rejects.toMatchObject({ failure: 'collision' })
    await expect(driver.setAttributes(other, { modifiedMs: 0 })).rejects.toMatchObject({ failure: 'gone' })
    expect(readFileSync(join(mount.path, 'Kept'), 'utf8')).toBe('kept')
    // It is free once the other one is gone, by whomever.
    rmSync(join(mount.path, 'Kept'))
    await driver.put(other, Buffer.from('new'), {})
    expect(readdirSync(mount.path)).toEqual(['kept'])
    await driver.close()
  },
)

testUnless(noFolding, 'changes of a folder that another program serves are not told, and why', async () => {
  using mount = mountFolding()
  const driver = new LocalDriver({ fsRoot: mount.path })
  expect(await driver.changes.feed(Buffer.alloc(0))).toEqual({
    refusal: 'the source is on FUSE, which does not tell of all changes',
  })
  await driver.close()
})

test.for([
  ['Name', 'name'],
  ['a', 'a.'],
  ['a', 'A. .'],
  ['Stra\u00dfe', 'STRASSE'],
  ['e\u0301', '\u00e9'],
])('%s and %s may be one name', ([one, other]) => {
  const bytes = (name: string) => Buffer.from(name).toString('latin1')
  expect(folded(bytes(one!))).toBe(folded(bytes(other!)))
})

test('the lock of a name that a killed writer left behind is broken; one that cannot be is an error', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-lock-'))
  const path = Buffer.from(join(folder, 'lock'))
  const brokenAfterMs = 50
  try {
    writeFileSync(path, '')
    const started = performance.now()
    expect(whileLocked(path, () => readdirSync(folder), brokenAfterMs)).toEqual(['lock'])
    expect(performance.now() - started).toBeGreaterThanOrEqual(brokenAfterMs)
    expect(readdirSync(folder)).toEqual([])
    // No file, so that it cannot be removed as one: nobody waits without end.
    mkdirSync(path)
    expect(() => whileLocked(path, () => 'done', brokenAfterMs)).toThrow(/EISDIR|EPERM/)
  } finally {
    rmSync(folder, { recursive: true })
  }
})
