import {
  appendFileSync,
  chmodSync,
  linkSync,
  lchownSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { Mover, type MoveSpec } from '../../../services/engine/mover.ts'
import { packRules, type RuleLists } from '../../../services/engine/run/rules.ts'
import { compareTrees } from '../../support/compare-trees.ts'
import { immovable, whyNotImmovable } from '../../support/immovable.ts'
import { createFolder } from '../../support/migrations.ts'
import { mountLoop, mountMemory, whyNoLoop, whyNoMount } from '../../support/mounts.ts'
import { testUnless } from '../../support/unless.ts'
import { until } from '../../support/until.ts'
import { drive } from './drive.ts'
import { liveSpec } from './local-spec.ts'
import { changed, reconcile, tryOnce } from './reconcile-folder.ts'

const mover = new Mover({ threads: 2, log: { error: () => undefined } })
afterAll(() => mover.close())

/** Folders of a migration that began a minute ago: what a test makes at the target is the migration's own. */
function createLiveMove(options: Partial<MoveSpec> = {}) {
  const folder = createFolder('from', 'to')
  const spec = liveSpec(folder, options)
  let { live } = spec
  const fileClock = () => {
    const probe = join(folder.root, 'probe')
    writeFileSync(probe, '')
    const { birthtimeMs } = lstatSync(probe)
    rmSync(probe)
    return birthtimeMs
  }
  return {
    spec,
    /** The migration begins now: all that is at the target is older. */
    begin: async () => {
      const beforeMs = fileClock()
      await until('files that are made are younger', () => fileClock() > beforeMs)
      live = { startedMs: fileClock() }
    },
    scan: () => drive(mover, { ...spec, live }),
    apply: (...groups: ReturnType<typeof changed>[]) => reconcile(mover, { ...spec, live }, groups),
    /** The same by items that go down themselves. */
    applyDeep: (...groups: ReturnType<typeof changed>[]) => reconcile(mover, { ...spec, live }, groups, true),
    /** The same with a migration that begins in a minute: all that is at the target is older. */
    applyLater: (...groups: ReturnType<typeof changed>[]) =>
      reconcile(mover, { ...spec, live: { startedMs: Date.now() + 60_000 } }, groups),
    from: (path: string) => join(folder.from, path),
    to: (path: string) => join(folder.to, path),
    /** All that is at the target. */
    listed: () => readdirSync(folder.to, { recursive: true, encoding: 'utf8' }).toSorted(),
    differences: () => compareTrees(folder.from, folder.to),
    [Symbol.dispose]: folder[Symbol.dispose],
  }
}

const everything = changed('', { scope: 'tree' })

const diskBytes = 16 * 1024 * 1024

describe('names that somebody was told of', () => {
  test('arrive: new files, folders with all that is in them, links', async () => {
    using move = createLiveMove()
    writeFileSync(move.from('file'), 'content')
    writeFileSync(move.from('empty'), '')
    mkdirSync(move.from('a/b/c'), { recursive: true })
    writeFileSync(move.from('a/b/c/deep'), 'deep')
    symlinkSync('file', move.from('link'))
    const { failures, again, counts } = await move.apply(
      changed('', { names: ['file', 'empty', 'a', 'link'] }),
    )
    expect([failures, again]).toEqual([[], []])
    expect(move.differences()).toEqual([])
    expect(counts).toMatchObject({ filesScanned: 3, filesMigrated: 3, linksMigrated: 1, foldersMigrated: 3 })
  })

  test('below folders that the target has not yet: those are made', async () => {
    using move = createLiveMove()
    mkdirSync(move.from('a/b'), { recursive: true, mode: 0o750 })
    writeFileSync(move.from('a/b/file'), 'content')
    await move.apply(changed('a/b', { names: ['file'] }))
    expect(move.differences()).toEqual([])
  })

  test('that are gone are removed, folders with all that is in them', async () => {
    using move = createLiveMove()
    writeFileSync(move.from('stays'), 'x')
    await move.apply(everything)
    mkdirSync(move.to('tree/below'), { recursive: true })
    for (const path of ['file', 'tree/1', 'tree/below/2']) writeFileSync(move.to(path), 'x')
    symlinkSync('stays', move.to('link'))
    const { counts } = await move.apply(changed('', { names: ['file', 'tree', 'link', 'never was'] }))
    expect(move.differences()).toEqual([])
    expect(counts).toMatchObject({ filesRemoved: 4, foldersRemoved: 2, failures: 0 })
  })

  testUnless(whyNotImmovable(), 'whose removal fails are a failure, and gone all the same', async () => {
    using move = createLiveMove()
    mkdirSync(move.to('folder'))
    for (const name of ['folder/stays', 'goes']) writeFileSync(move.to(name), 'x')
    using _ = immovable(move.to('folder/stays'))
    const { failures, gone } = await move.apply(changed('', { names: ['folder', 'goes', 'never was'] }))
    expect(failures).toMatchObject([{ path: '/folder', isRemoval: true }])
    expect(gone.toSorted()).toEqual(['/folder', '/goes', '/never was'])
  })

  test('have nothing below them unless they are folders', async () => {
    using move = createLiveMove()
    for (const name of ['file', 'other']) writeFileSync(move.from(name), 'x')
    mkdirSync(move.from('folder'))
    const { gone } = await move.apply(changed('', { names: ['file', 'folder'] }))
    expect(gone).toEqual(['/file'])
  })

  test('are not taken for gone when their whole folder is', async () => {
    using move = createLiveMove()
    mkdirSync(move.to('folder'))
    writeFileSync(move.to('folder/file'), 'x')
    await move.apply(changed('folder', { names: ['file'] }))
    expect(readFileSync(move.to('folder/file'), 'utf8')).toBe('x')
  })

  test('are gone where a link took the place of a folder above them, wherever it leads', async () => {
    using move = createLiveMove()
    mkdirSync(move.from('folder/sub'), { recursive: true })
    for (const path of ['folder/file', 'folder/sub/file']) writeFileSync(move.from(path), 'x')
    await move.apply(everything)
    rmSync(move.from('folder'), { recursive: true })
    const outside = dirname(move.from(''))
    mkdirSync(join(outside, 'sub'))
    symlinkSync(outside, move.from('folder'))
    const stale = [
      changed('folder', { names: ['file', 'sub'], scope: 'tree' }),
      changed('folder/sub', { names: ['file'], scope: 'tree' }),
    ]
    const before = await move.apply(...stale)
    expect([before.failures, before.counts.filesRemoved]).toEqual([[], 0])
    const { failures, gone } = await move.apply(changed('', { trees: ['folder'] }))
    expect([failures, gone]).toEqual([[], ['/folder']])
    const { failures: after } = await move.apply(...stale)
    expect(after).toEqual([])
    expect(move.differences()).toEqual([])
  })

  test('a change of size, time or content arrives; what is the same is not copied', async () => {
    using move = createLiveMove()
    for (const name of ['appended', 'touched', 'same']) writeFileSync(move.from(name), 'content')
    await move.apply(everything)
    appendFileSync(move.from('appended'), ' and more')
    utimesSync(move.from('touched'), 1_000_000, 1_000_000)
    const before = lstatSync(move.to('same'))
    utimesSync(move.from('same'), before.atime, 1_500_000)
    await move.apply(everything)
    const { ino } = lstatSync(move.to('same'))
    const { counts } = await move.apply(changed('', { names: ['appended', 'touched', 'same'] }))
    expect(move.differences()).toEqual([])
    expect(lstatSync(move.to('same')).ino).toBe(ino)
    expect(counts.bytesMigrated).toBeLessThanOrEqual('content and more'.length)
  })

  test('two writes within one tick of the clock, of the same size: the second arrives too', async () => {
    using move = createLiveMove()
    for (let i = 0; i < 50; i++) {
      writeFileSync(move.from('file'), `write ${i % 10}a`)
      await move.apply(changed('', { names: ['file'] }))
      writeFileSync(move.from('file'), `write ${i % 10}b`)
      await move.apply(changed('', { names: ['file'] }))
      expect(readFileSync(move.to('file'), 'utf8')).toBe(`write ${i % 10}b`)
    }
  })

  test('another mode alone is set without a copy, for files and folders', async () => {
    using move = createLiveMove()
    writeFileSync(move.from('file'), 'content', { mode: 0o644 })
    utimesSync(move.from('file'), 1_000_000, 1_000_000)
    mkdirSync(move.from('folder'), { mode: 0o755 })
    await move.apply(everything)
    const { ino } = lstatSync(move.to('file'))
    chmodSync(move.from('file'), 0o600)
    chmodSync(move.from('folder'), 0o711)
    const { counts } = await move.apply(changed('', { names: ['file', 'folder'] }))
    expect(move.differences()).toEqual([])
    expect(lstatSync(move.to('file')).ino).toBe(ino)
    expect(counts.filesScanned).toBe(0)
  })

  test('a folder in place of a file, a file in place of a folder, and a link in place of either', async () => {
    using move = createLiveMove()
    mkdirSync(move.to('file/deep'), { recursive: true })
    writeFileSync(move.to('file/deep/x'), 'x')
    writeFileSync(move.to('folder'), 'x')
    mkdirSync(move.to('link/deep'), { recursive: true })
    symlinkSync('file', move.to('folder 2'))
    writeFileSync(move.from('file'), 'now a file')
    mkdirSync(move.from('folder/with'), { recursive: true })
    writeFileSync(move.from('folder/with/file'), 'x')
    symlinkSync('file', move.from('link'))
    mkdirSync(move.from('folder 2'))
    await move.apply(changed('', { names: ['file', 'folder', 'link', 'folder 2'] }))
    expect(move.differences()).toEqual([])
  })

  test('nothing is written through a link of ours where the source has a folder by now', async () => {
    using move = createLiveMove()
    mkdirSync(move.from('other'))
    mkdirSync(move.from('place'))
    writeFileSync(move.from('place/new'), 'new')
    mkdirSync(move.to('other'))
    for (const path of [move.from('other'), move.to('other')]) utimesSync(path, 1_000_000, 1_000_000)
    symlinkSync('other', move.to('place'))
    await move.apply(changed('place', { names: ['new'] }))
    expect(move.differences()).toEqual([])
  })

  test('more than a thread copies at once, and a large file, go by items of their own', async () => {
    using move = createLiveMove()
    const names = Array.from({ length: 700 }, (_, i) => `file ${i}`)
    for (const name of names) writeFileSync(move.from(name), name)
    writeFileSync(move.from('large'), Buffer.alloc(17 * 2 ** 20, 7))
    utimesSync(move.from('large'), 1_000_000, 1_000_000)
    const { items, busy, counts } = await move.apply(changed('', { names: [...names, 'large'] }))
    expect(move.differences()).toEqual([])
    expect(items).toBeGreaterThanOrEqual(3)
    expect(busy).toEqual(['large'])
    expect(counts).toMatchObject({ filesScanned: 701, filesMigrated: 701 })
  })

  test('a large file that was written to just now is left alone for a while', async () => {
    using move = createLiveMove()
    writeFileSync(move.from('large'), '')
    truncateSync(move.from('large'), 200 * 2 ** 20)
    const { again, counts } = await move.apply(changed('', { names: ['large'] }))
    expect(again).toEqual(['large'])
    expect(counts.filesScanned).toBe(0)
  })
})

describe('a comparison', () => {
  test('copies what differs below, and removes what the migration brought and the source lost', async () => {
    using move = createLiveMove()
    mkdirSync(move.from('a/b'), { recursive: true })
    writeFileSync(move.from('a/b/file'), 'x')
    writeFileSync(move.from('a/other'), 'x')
    await move.apply(everything)
    renameSync(move.from('a/b'), move.from('moved'))
    rmSync(move.from('a/other'))
    appendFileSync(move.from('moved/file'), 'more')
    writeFileSync(move.from('new'), 'x')
    await move.apply(everything)
    expect(move.differences()).toEqual([])
  })

  test('goes down by itself where its item is deep, and comes to the same', async () => {
    using move = createLiveMove()
    for (let index = 0; index < 300; index++) {
      const folder = move.from(`${index % 5}/${index % 50}/${index}`)
      mkdirSync(folder, { recursive: true })
      writeFileSync(join(folder, 'file'), `${index}`)
    }
    const found = await move.applyDeep(everything)
    expect(move.differences()).toEqual([])
    expect(found.counts).toMatchObject({ filesMigrated: 300, foldersMigrated: 355 })
    // Nothing but what is to be copied came of the first.
    expect(found.kinds).toEqual({ reconcile: 1, transfer: 1 })

    renameSync(move.from('0/0/0'), move.from('1/1/moved'))
    rmSync(move.from('2'), { recursive: true })
    writeFileSync(move.from('2'), 'a file')
    appendFileSync(move.from('4/49/299/file'), 'more')
    chmodSync(move.from('3/3/3'), 0o700)
    const { counts } = await move.applyDeep(everything)
    expect(move.differences()).toEqual([])
    expect(counts).toMatchObject({ filesRemoved: 61, foldersRemoved: 72 })
  })

  test('sees another time and owner of a symbolic link, and copies no link that is the same', async () => {
    using move = createLiveMove()
    for (const name of ['moved', 'given', 'same']) symlinkSync('somewhere', move.from(name))
    await move.apply(everything)
    lutimesSync(move.from('moved'), 1e9, 1e9)
    // Only root may give things away.
    const isRoot = process.getuid?.() === 0
    if (isRoot) lchownSync(move.from('given'), 1, 2)
    const { counts } = await move.apply(everything)
    expect(counts.linksMigrated).toBe(isRoot ? 2 : 1)
    expect(lstatSync(move.to('moved')).mtimeMs).toBe(1e12)
    expect(lstatSync(move.to('given')).uid).toBe(lstatSync(move.from('given')).uid)
    expect(lstatSync(move.to('given')).gid).toBe(lstatSync(move.from('given')).gid)
    expect((await move.apply(everything)).counts.linksMigrated).toBe(0)
  })

  test('leaves what stood at the target before, whole', async () => {
    using move = createLiveMove()
    writeFileSync(move.from('file'), 'x')
    mkdirSync(move.to('theirs/below'), { recursive: true })
    writeFileSync(move.to('theirs/below/file'), 'x')
    symlinkSync('theirs', move.to('link'))
    const { counts } = await move.applyLater(everything)
    expect(move.differences().toSorted()).toEqual([
      '/link is too many',
      '/theirs is too many',
      '/theirs/below is too many',
      '/theirs/below/file is too many',
    ])
    expect(counts).toMatchObject({ filesRemoved: 0, foldersRemoved: 0, filesMigrated: 1 })
  })

  test('does not replace a folder that stood there before, and says so', async () => {
    using move = createLiveMove()
    writeFileSync(move.from('name'), 'a file')
    mkdirSync(move.to('name'))
    const { failures } = await move.applyLater(everything)
    expect(failures).toMatchObject([{ path: '/name', failure: 'unsupported' }])
    expect(lstatSync(move.to('name')).isDirectory()).toBe(true)
  })

  test('empties no target because the source is empty or gone: its volume may not be mounted', async () => {
    using move = createLiveMove()
    writeFileSync(move.from('file'), 'x')
    await move.apply(everything)
    rmSync(move.from('file'))
    await move.apply(everything)
    expect(readFileSync(move.to('file'), 'utf8')).toBe('x')
    const root = Buffer.from('nothing here')
    mkdirSync(move.to('nothing here'))
    writeFileSync(move.to('nothing here/file'), 'x')
    const { retried, reason } = await tryOnce(mover, { ...move.spec, root }, [everything])
    expect(retried).toBe(1)
    expect(reason).toMatch(/not there/)
    expect(readFileSync(move.to('nothing here/file'), 'utf8')).toBe('x')
  })

  testUnless(whyNoMount(), 'waits for a target that became read-only', async () => {
    using mount = mountMemory(2 ** 20)
    using move = createLiveMove({ target: { kind: 'local', options: { fsRoot: mount.path } } })
    mkdirSync(move.from('folder'))
    for (const path of ['file', 'folder/file']) writeFileSync(move.from(path), 'x')
    await move.apply(everything)
    writeFileSync(move.from('file'), 'changed')
    rmSync(move.from('folder'), { recursive: true })
    mkdirSync(move.from('other'))
    mount.makeReadOnly()
    for (const name of ['file', 'folder', 'other'])
      expect(await tryOnce(mover, move.spec, [changed('', { names: [name] })]), name).toEqual({
        retried: 1,
        condition: 'TARGET_REFUSES',
        reason: expect.stringMatching(/target: .*read-only file system/i),
      })
    mount.makeWritable()
    await move.apply(changed('', { names: ['file', 'folder', 'other'] }))
    expect(compareTrees(move.from(''), mount.path)).toEqual([])
  })

  test('leaves files under construction alone', async () => {
    using move = createLiveMove()
    writeFileSync(move.from('file'), 'x')
    const name = '.gantry~put~01234567.1.0123456789ab.1~1'
    writeFileSync(move.to(name), 'half')
    await move.apply(everything)
    expect(readFileSync(move.to(name), 'utf8')).toBe('half')
  })

  test('with the policy to skip, what stood there before and has the size stays, until it is written to', async () => {
    using move = createLiveMove({ policy: 'SkipIfSizeMatch' })
    writeFileSync(move.from('file'), 'source')
    writeFileSync(move.to('file'), 'target')
    utimesSync(move.from('file'), 1_000_000, 1_000_000)
    await move.applyLater(everything)
    expect(readFileSync(move.to('file'), 'utf8')).toBe('target')
    await move.applyLater(changed('', { names: ['file'] }))
    expect(readFileSync(move.to('file'), 'utf8')).toBe('source')
  })

  test('with the policy to skip by time or content, what differs in it and did not come with the scan is copied', async () => {
    for (const policy of ['SkipIfSizeAndTimeMatch', 'SkipIfDigestMatch'] as const) {
      using move = createLiveMove({ policy })
      writeFileSync(move.from('file'), 'source')
      writeFileSync(move.to('file'), 'target')
      utimesSync(move.from('file'), 1_000_000, 1_000_000)
      await move.applyLater(everything)
      expect(readFileSync(move.to('file'), 'utf8')).toBe('source')
    }
  })

  test('with the policy to skip by content, what is the same is not copied', async () => {
    using move = createLiveMove({ policy: 'SkipIfDigestMatch' })
    for (const at of [move.from, move.to]) writeFileSync(at('file'), 'the same')
    utimesSync(move.from('file'), 1_000_000, 1_000_000)
    const { ino } = lstatSync(move.to('file'))
    const { counts } = await move.applyLater(everything)
    expect(counts.filesMigrated).toBe(0)
    expect(lstatSync(move.to('file')).ino).toBe(ino)
    expect((await move.applyLater(everything)).counts.filesScanned).toBe(0)
  })

  testUnless(whyNoLoop(), 'of times in whole seconds no two writes are taken for one', async () => {
    using disk = mountLoop(diskBytes, true)
    const [from, to] = ['from', 'to'].map((name) => join(disk.path, name)) as [string, string]
    for (const path of [from, to]) mkdirSync(path)
    const at = (fsRoot: string) => ({ kind: 'local', options: { fsRoot } }) as const
    for (const other of [{}, { target: at(to) }]) {
      using move = createLiveMove({ source: at(from), ...other })
      const there = 'target' in other ? join(to, 'file') : move.to('file')
      const arrives = (content: string, group: typeof everything) =>
        until(`${content} arrives`, async () => {
          // Not before it can be proven that it was not written to while it was read.
          const { again } = await move.apply(group)
          if (again.length > 0) return false
          expect(readFileSync(there, 'utf8')).toBe(content)
          return true
        })
      await until('a second begins', () => Date.now() % 1_000 < 100)
      for (const content of ['one', 'two']) {
        writeFileSync(join(from, 'file'), content)
        await arrives(content, changed('', { names: ['file'] }))
      }
      writeFileSync(join(from, 'file'), 'six')
      await arrives('six', everything)
    }
  })

  testUnless(whyNoLoop(), 'a target with whole seconds is left alone by a second comparison', async () => {
    using disk = mountLoop(diskBytes, true)
    using move = createLiveMove({ target: { kind: 'local', options: { fsRoot: disk.path } } })
    const there = join(disk.path, 'file')
    const write = (content: string, ms: number) => {
      writeFileSync(move.from('file'), content)
      utimesSync(move.from('file'), 1_000_000 + ms / 1_000, 1_000_000 + ms / 1_000)
    }
    write('one', 678)
    await move.apply(everything)
    const { ino, mtimeMs } = lstatSync(there)
    expect(mtimeMs).toBe(1_000_000_000)
    expect((await move.apply(everything)).counts.filesMigrated).toBe(0)
    expect(lstatSync(there).ino).toBe(ino)
    // Of the same size, with a time within the same second.
    write('two', 901)
    await move.apply(everything)
    expect(readFileSync(there, 'utf8')).toBe('two')
  })

  test('a time to come makes no file be copied again and again', async () => {
    using move = createLiveMove()
    writeFileSync(move.from('file'), 'x')
    utimesSync(move.from('file'), 4_000_000_000, 4_000_000_000)
    await move.apply(everything)
    const { counts } = await move.apply(everything)
    expect(counts.filesScanned).toBe(0)
    expect(move.differences()).toEqual([])
  })
})

describe('what the target had before, where the source has something else', () => {
  /** Of each kind that goes a way of its own. */
  function fillWithFiles(at: (path: string) => string): string[] {
    writeFileSync(at('file'), 'a file')
    writeFileSync(at('empty'), '')
    symlinkSync('file', at('link'))
    writeFileSync(at('large'), '')
    truncateSync(at('large'), 17 * 2 ** 20)
    utimesSync(at('large'), 1_000_000, 1_000_000)
    return ['file', 'empty', 'link', 'large']
  }
  const folderInTheWay = /^target: a folder stands where the file should go/

  test('a folder stays, and is a failure, when the source is scanned, when a name is told, and when all is compared', async () => {
    using move = createLiveMove()
    const names = fillWithFiles(move.from)
    for (const name of names) {
      mkdirSync(move.to(`${name}/deep/empty`), { recursive: true })
      writeFileSync(move.to(`${name}/deep/keep`), 'x')
    }
    const before = move.listed()
    await move.begin()
    const scanned = await move.scan()
    expect(scanned.counts).toMatchObject({ failures: 4, filesVanished: 0 })
    const ways = [
      scanned,
      await move.apply(changed('', { names })),
      await move.apply(changed('', { trees: names })),
      await move.apply(everything),
    ]
    for (const { failures } of ways) {
      expect(failures.map(({ path }) => path).toSorted()).toEqual(names.map((name) => `/${name}`).toSorted())
      for (const { message } of failures) expect(message).toMatch(folderInTheWay)
    }
    expect(move.listed()).toEqual(before)
  })

  test('a file or link stays where a folder should go, and is a failure, and what is in the folder waits for nothing', async () => {
    using move = createLiveMove()
    mkdirSync(move.from('folder'))
    writeFileSync(move.from('folder/file'), 'x')
    writeFileSync(move.to('folder'), 'theirs')
    await move.begin()
    for (const group of [
      changed('', { names: ['folder'] }),
      changed('folder', { names: ['file'] }),
      everything,
    ]) {
      const { failures, items } = await move.apply(group)
      expect(failures).toMatchObject([{ path: '/folder', failure: 'unsupported', attempts: 1 }])
      expect(failures[0]?.message).toMatch(
        /^target: something that is no folder stands where the folder .*: rename or delete it, then retry$/,
      )
      expect(items).toBeLessThanOrEqual(2)
    }
    expect(readFileSync(move.to('folder'), 'utf8')).toBe('theirs')
  })

  test('what the migration made is replaced: folders by files and back, also in folders that were there before', async () => {
    using move = createLiveMove()
    mkdirSync(move.to('merged/below'), { recursive: true })
    mkdirSync(move.from('merged/below'), { recursive: true })
    writeFileSync(move.to('merged/below/file'), 'of before')
    writeFileSync(move.from('merged/below/file'), 'of the source')
    await move.begin()
    mkdirSync(move.from('made/below'), { recursive: true })
    writeFileSync(move.from('made/below/file'), 'x')
    await move.apply(everything)
    for (const name of ['merged', 'made']) {
      rmSync(move.from(name), { recursive: true })
      writeFileSync(move.from(name), 'now a file')
    }
    // Whoever copies it first finds the folder, and has it looked at again.
    const { counts, failures } = await move.scan()
    expect([failures, counts.filesVanished]).toEqual([[], 2])
    await move.apply(changed('', { names: ['merged', 'made'] }))
    expect(move.differences()).toEqual([])
    for (const name of ['merged', 'made']) {
      rmSync(move.from(name))
      mkdirSync(move.from(`${name}/again`), { recursive: true })
    }
    await move.apply(changed('', { names: ['merged', 'made'] }))
    expect(move.differences()).toEqual([])
  })

  test('a folder stays when a file or a link of its name goes, and goes when a folder does', async () => {
    using move = createLiveMove({ links: 'skip' })
    writeFileSync(move.from('other'), 'x')
    symlinkSync('other', move.from('link'))
    for (const name of ['file', 'link', 'folder']) {
      mkdirSync(move.to(name))
      writeFileSync(move.to(`${name}/keep`), 'x')
    }
    await move.begin()
    await move.apply(changed('', { names: ['file', 'link'], trees: ['link'] }))
    expect(move.listed()).toEqual(['file', 'file/keep', 'folder', 'folder/keep', 'link', 'link/keep'])
    await move.apply(changed('', { trees: ['folder'] }))
    expect(move.listed()).toEqual(['file', 'file/keep', 'link', 'link/keep'])
  })

  test('a folder stays whole when only some of it came by the migration', async () => {
    using move = createLiveMove()
    mkdirSync(move.from('name'))
    writeFileSync(move.from('name/ours'), 'x')
    mkdirSync(move.to('name'))
    writeFileSync(move.to('name/theirs'), 'x')
    await move.begin()
    await move.apply(everything)
    rmSync(move.from('name'), { recursive: true })
    writeFileSync(move.from('name'), 'now a file')
    const { failures } = await move.apply(changed('', { names: ['name'] }))
    expect(failures).toMatchObject([{ path: '/name', failure: 'unsupported' }])
    expect(move.listed()).toEqual(['name', 'name/ours', 'name/theirs'])
  })
})

describe('what a migration is told to do', () => {
  const rules = (lists: Partial<RuleLists>) => {
    const packed = packRules({ exclusions: [], inclusions: [], ...lists })
    return packed === undefined ? {} : { rules: packed }
  }
  const glob = (pattern: string) =>
    ({ id: pattern, type: 'regex', patternType: 'GLOB', regex: pattern }) as const

  test('what a rule leaves out is neither copied nor removed', async () => {
    using move = createLiveMove(rules({ exclusions: [glob('*.tmp'), glob('cache')] }))
    for (const folder of [move.from('cache'), move.to('cache')]) mkdirSync(folder)
    for (const path of ['a.tmp', 'cache/file', 'kept']) writeFileSync(move.from(path), 'x')
    for (const path of ['b.tmp', 'cache/theirs']) writeFileSync(move.to(path), 'x')
    const told = changed('', { names: ['a.tmp', 'b.tmp', 'cache', 'kept'] })
    const excluded: number[] = []
    for (const group of [told, changed('cache', { names: ['file', 'theirs'] }), everything])
      excluded.push((await move.apply(group)).counts.eventsExcluded)
    expect(move.listed()).toEqual(['b.tmp', 'cache', 'cache/theirs', 'kept'])
    // Of what is at the source; a comparison tells of no change.
    expect(excluded).toEqual([2, 0, 0])
  })

  test('a write under a name that is left out, or new, has everything compared for its other names', async () => {
    using move = createLiveMove(rules({ exclusions: [glob('*.tmp'), glob('cache')] }))
    mkdirSync(move.from('cache'))
    writeFileSync(move.from('file'), 'x')
    for (const path of ['file.tmp', 'cache/file']) linkSync(move.from('file'), move.from(path))
    writeFileSync(move.from('alone.tmp'), 'x')
    await move.apply(everything)
    const isToCompare = async (...told: Parameters<typeof changed>) =>
      (await move.apply(changed(...told))).hasOtherNames
    expect(await isToCompare('', { names: ['file.tmp'] })).toBe(true)
    expect(await isToCompare('cache', { names: ['file'] })).toBe(true)
    expect(await isToCompare('', { names: ['alone.tmp'], trees: ['cache'] })).toBe(false)

    mkdirSync(move.from('folder'))
    for (const path of ['new', 'folder/new']) linkSync(move.from('file'), move.from(path))
    appendFileSync(move.from('new'), 'y')
    expect(await isToCompare('', { trees: ['new'] })).toBe(true)
    expect(await isToCompare('', { trees: ['folder'] })).toBe(true)
    // A new name of what was written to long ago.
    utimesSync(move.from('file'), 1, 1)
    await move.apply(everything)
    linkSync(move.from('file'), move.from('newer'))
    expect(await isToCompare('', { trees: ['newer'] })).toBe(false)
    expect((await move.apply(everything)).hasOtherNames).toBe(false)
  })

  for (const [how, told] of [
    ['told', changed('', { trees: ['folder', 'file', 'with excluded'] })],
    ['compared', everything],
  ] as const) {
    test(`what is gone goes though something of another type that does not come has its name, ${how}`, async () => {
      const size = { id: 'large', type: 'fileSize', value: 10, unit: 'B' } as const
      using move = createLiveMove(rules({ inclusions: [glob('*.txt'), glob('file')], exclusions: [size] }))
      for (const folder of ['folder', 'with excluded']) {
        mkdirSync(move.from(folder))
        writeFileSync(move.from(`${folder}/a.txt`), 'x')
      }
      writeFileSync(move.from('file'), 'x')
      await move.apply(everything)
      writeFileSync(move.to('with excluded/large.txt'), 'more than may be')
      for (const path of ['folder', 'with excluded']) {
        rmSync(move.from(path), { recursive: true })
        writeFileSync(move.from(path), 'x')
      }
      await move.apply(told)
      expect(move.listed()).toEqual(['file', 'with excluded', 'with excluded/large.txt'])
    })
  }

  test('what is renamed to a name that is left out goes from the target, and comes back with another', async () => {
    using move = createLiveMove(rules({ exclusions: [glob('*.tmp'), glob('cache')] }))
    mkdirSync(move.from('folder'))
    for (const path of ['file', 'folder/in']) writeFileSync(move.from(path), 'x')
    await move.apply(everything)
    renameSync(move.from('file'), move.from('file.tmp'))
    renameSync(move.from('folder'), move.from('cache'))
    await move.apply(changed('', { names: ['file', 'file.tmp', 'folder', 'cache'] }))
    expect(move.listed()).toEqual([])
    renameSync(move.from('file.tmp'), move.from('other'))
    renameSync(move.from('cache'), move.from('folder'))
    await move.apply(changed('', { names: ['file.tmp', 'other', 'folder', 'cache'] }))
    expect(move.listed()).toEqual(['folder', 'folder/in', 'other'])
  })

  test('what is left out stays in a folder that goes or becomes a file, with the folders above it', async () => {
    using move = createLiveMove(rules({ exclusions: [glob('*.log'), glob('/ee/cache')] }))
    const folders = ['ee', 'turned']
    for (const folder of folders) {
      mkdirSync(move.from(`${folder}/deep/gone`), { recursive: true })
      for (const path of ['a', 'deep/b', 'deep/gone/c']) writeFileSync(move.from(`${folder}/${path}`), 'x')
    }
    await move.apply(everything)
    mkdirSync(move.to('ee/cache'))
    for (const path of ['ee/mine.log', 'ee/deep/mine.log', 'ee/cache/mine', 'turned/deep/mine.log'])
      writeFileSync(move.to(path), 'mine')
    renameSync(move.from('ee'), move.from('ff'))
    renameSync(move.from('turned'), move.from('gg'))
    writeFileSync(move.from('turned'), 'now a file')
    const { failures, counts } = await move.apply(changed('', { names: ['ee', 'ff', 'turned', 'gg'] }))
    expect(failures).toMatchObject([{ path: '/turned', failure: 'unsupported' }])
    expect(counts).toMatchObject({ filesRemoved: 6, foldersRemoved: 2 })
    const kept = [
      ...['ee', 'ee/cache', 'ee/cache/mine', 'ee/deep', 'ee/deep/mine.log', 'ee/mine.log'],
      ...['turned', 'turned/deep', 'turned/deep/mine.log'],
    ]
    const isRenamed = (path: string) => /^(ff|gg)/.test(path)
    expect(move.listed().filter((path) => !isRenamed(path))).toEqual(kept)
    await move.apply(everything)
    expect(move.listed().filter((path) => !isRenamed(path))).toEqual(kept)
    expect(move.listed().filter(isRenamed)).toHaveLength(12)
  })

  test('rules say what goes by its path in the source, wherever that leads, and what is not included stays', async () => {
    const mappings = [
      { from: Buffer.from('a/left/b'), to: Buffer.from('z') },
      { from: Buffer.from('a/b'), to: Buffer.from('x/y') },
      { from: Buffer.from(''), to: Buffer.from('all') },
    ]
    using move = createLiveMove({
      mappings,
      ...rules({ exclusions: ['/a/left', '/a/b/mine', '/a/c/mine'].map(glob), inclusions: [glob('/a/**')] }),
    })
    for (const folder of ['a/b', 'a/c']) {
      mkdirSync(move.from(folder), { recursive: true })
      writeFileSync(move.from(`${folder}/file`), 'x')
    }
    await move.apply(everything)
    expect(move.listed()).toEqual(['all', 'all/a', 'all/a/c', 'all/a/c/file', 'x', 'x/y', 'x/y/file'])
    mkdirSync(move.to('z'))
    for (const folder of ['all/a/c', 'x/y', 'z']) writeFileSync(move.to(`${folder}/mine`), 'mine')
    rmSync(move.from('a'), { recursive: true })
    await move.apply(changed('', { names: ['a'] }))
    expect(move.listed()).toEqual([
      ...['all', 'all/a', 'all/a/c', 'all/a/c/mine', 'x', 'x/y', 'x/y/mine'],
      ...['z', 'z/mine'],
    ])

    using confined = createLiveMove(rules({ inclusions: [glob('/a/**/*.data')] }))
    mkdirSync(confined.from('a/deep'), { recursive: true })
    writeFileSync(confined.from('a/deep/1.data'), 'x')
    await confined.apply(everything)
    writeFileSync(confined.to('a/theirs'), 'theirs')
    rmSync(confined.from('a'), { recursive: true })
    await confined.apply(changed('', { names: ['a'] }))
    expect(confined.listed()).toEqual(['a', 'a/theirs'])
  })

  test('of what it is confined to, folders on the way are made when they hold something', async () => {
    using move = createLiveMove(rules({ inclusions: [glob('/a/**/*.data')] }))
    for (const path of ['a/empty', 'a/full/deep', 'other']) mkdirSync(move.from(path), { recursive: true })
    for (const path of ['a/full/deep/1.data', 'a/full/2.txt', 'other/3.data'])
      writeFileSync(move.from(path), 'x')
    await move.apply(changed('', { trees: ['a', 'other'] }))
    expect(move.listed()).toEqual(['a', 'a/full', 'a/full/deep', 'a/full/deep/1.data'])
    rmSync(move.from('a/full/deep/1.data'))
    await move.apply(changed('a/full/deep', { names: ['1.data'] }))
    expect(readdirSync(move.to('a/full/deep'))).toEqual([])
  })

  test('a folder with a path mapping arrives where that leads, and is removed there', async () => {
    const mapping = (from: string, to: string) => ({ from: Buffer.from(from), to: Buffer.from(to) })
    using move = createLiveMove({ mappings: [mapping('a/b', 'x/y'), mapping('', '')] })
    mkdirSync(move.from('a/b/c'), { recursive: true })
    writeFileSync(move.from('a/b/c/file'), 'x')
    await move.apply(changed('', { trees: ['a'] }))
    expect(move.listed()).toEqual(['a', 'x', 'x/y', 'x/y/c', 'x/y/c/file'])
    // What comes from elsewhere in the source is not taken for something that is too many here.
    await move.apply(everything)
    expect(readFileSync(move.to('x/y/c/file'), 'utf8')).toBe('x')
    rmSync(move.from('a'), { recursive: true })
    await move.apply(changed('', { names: ['a'] }))
    expect(move.listed()).toEqual(['x'])
  })

  for (const [how, gone] of [
    ['a told name', changed('', { trees: ['a', 'p', 'q', 's'] })],
    ['a comparison', everything],
  ] as const) {
    test(`what mappings led elsewhere goes with its folders, by ${how}, and nothing that comes from others`, async () => {
      const mapping = (from: string, to: string) => ({ from: Buffer.from(from), to: Buffer.from(to) })
      using move = createLiveMove({
        mappings: [
          mapping('p/r', 'deep/r'),
          mapping('s', 'n/s'),
          mapping('c', 'm/c'),
          mapping('a', 'm'),
          mapping('p', 'n'),
          mapping('', ''),
        ],
      })
      for (const path of ['a/1/2', 'c/3', 'p/5', 'p/r/6', 'q/7', 's/8', 'm/9', 'stays']) {
        mkdirSync(move.from(dirname(path)), { recursive: true })
        writeFileSync(move.from(path), path)
      }
      await move.apply(everything)
      const brought = ['deep', 'deep/r', 'deep/r/6', 'm', 'm/1', 'm/1/2', 'm/c', 'm/c/3', 'n', 'n/5']
      expect(move.listed()).toEqual([...brought, 'n/s', 'n/s/8', 'q', 'q/7', 'stays'])
      // It is not its copy that is at the target.
      rmSync(move.from('m'), { recursive: true })
      await move.apply(changed('', { trees: ['m'] }), changed('m', { names: ['1'] }))
      expect(move.listed()).toEqual([...brought, 'n/s', 'n/s/8', 'q', 'q/7', 'stays'])
      for (const path of ['a', 'p', 'q']) rmSync(move.from(path), { recursive: true })
      expect((await move.apply(gone)).failures).toEqual([])
      expect(move.listed()).toEqual(['deep', 'm', 'm/c', 'm/c/3', 'n', 'n/s', 'n/s/8', 'stays'])
    })
  }

  for (const [how, replaced] of [
    ['a told name', changed('', { names: ['a', 'b', 'c'] })],
    ['a comparison', everything],
  ] as const) {
    test(`what mappings led elsewhere goes when something else took the place of its folders, by ${how}`, async () => {
      const mapping = (from: string, to: string) => ({ from: Buffer.from(from), to: Buffer.from(to) })
      const mappings = [mapping('a/1', 'x'), mapping('b/2', 'y'), mapping('c', 'z'), mapping('', '')]
      using move = createLiveMove({ mappings })
      for (const path of ['a/1/file', 'b/2/file', 'c/file', 'stays']) {
        mkdirSync(move.from(dirname(path)), { recursive: true })
        writeFileSync(move.from(path), path)
      }
      await move.apply(everything)
      for (const path of ['a', 'b', 'c']) rmSync(move.from(path), { recursive: true })
      writeFileSync(move.from('a'), 'a file')
      symlinkSync('nowhere', move.from('b'))
      writeFileSync(move.from('c'), 'a file with a mapping of its own')
      const { failures } = await move.apply(replaced)
      expect(failures).toMatchObject([{ path: '/c', failure: 'unsupported' }])
      expect(move.listed()).toEqual(['a', 'b', 'stays'])
    })
  }

  test('what mappings led elsewhere stays when it is older, and when the source is empty', async () => {
    const mappings = [
      { from: Buffer.from('a'), to: Buffer.from('m') },
      { from: Buffer.from(''), to: Buffer.from('') },
    ]
    using move = createLiveMove({ mappings })
    mkdirSync(move.to('m'))
    writeFileSync(move.to('m/1'), 'x')
    await move.apply(everything)
    expect(move.listed()).toEqual(['m', 'm/1'])
    writeFileSync(move.from('stays'), 'x')
    await move.applyLater(everything)
    expect(move.listed()).toEqual(['m', 'm/1', 'stays'])
    await move.apply(everything)
    expect(move.listed()).toEqual(['stays'])
  })

  test('links that are left out leave nothing, links that are followed bring what they lead to', async () => {
    for (const links of ['skip', 'follow'] as const) {
      using move = createLiveMove({ links })
      writeFileSync(move.from('file'), 'content')
      symlinkSync('file', move.from('link'))
      writeFileSync(move.to('link'), 'of before')
      await move.apply(changed('', { names: ['file', 'link'] }))
      const wanted = links === 'skip' ? ['file'] : ['file', 'link']
      expect(move.listed()).toEqual(wanted)
      await move.apply(everything)
      expect(move.listed()).toEqual(wanted)

      // Nobody is told of links that lead to what changes.
      appendFileSync(move.from('file'), 'more')
      const told = [await move.apply(changed('', { names: ['file'] }))]
      rmSync(move.from('file'))
      told.push(await move.apply(changed('', { names: ['file'] })))
      for (const { hasOtherNames } of told) expect(hasOtherNames).toBe(links === 'follow')
    }
  })

  test('a link that is followed brings what it leads to now, be it alike', async () => {
    using move = createLiveMove({ links: 'follow' })
    for (const version of ['1', '2']) {
      mkdirSync(move.from(version))
      for (const file of [`${version}/file`, `${version}/only ${version}`])
        writeFileSync(move.from(file), version)
      utimesSync(move.from(`${version}/file`), 1, 1)
    }
    const lead = (version: string) => {
      for (const name of ['file', 'folder']) rmSync(move.from(name), { force: true })
      symlinkSync(`${version}/file`, move.from('file'))
      symlinkSync(version, move.from('folder'))
    }
    lead('1')
    await move.apply(everything)
    lead('2')
    await move.apply(changed('', { names: ['file', 'folder'] }))
    expect(move.listed().slice(-3)).toEqual(['folder', 'folder/file', 'folder/only 2'])
    expect(['file', 'folder/file'].map((path) => readFileSync(move.to(path), 'utf8'))).toEqual(['2', '2'])
  })

  test('what lies below a link that is followed stays while the link leads to nothing, told by name or compared', async () => {
    using move = createLiveMove({ links: 'follow' })
    mkdirSync(move.from('volume'))
    writeFileSync(move.from('volume/file'), 'content')
    symlinkSync('volume', move.from('link'))
    await move.apply(everything)
    rmSync(move.from('volume'), { recursive: true })
    for (const group of [changed('link', { names: ['file'] }), everything]) {
      await move.apply(group)
      expect(move.listed()).toContain('link/file')
    }
  })
})
