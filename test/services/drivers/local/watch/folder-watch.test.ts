import { appendFileSync, chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { EventCount } from '../../../../../services/drivers/local/watch/event-count.ts'
import { FolderWatch } from '../../../../../services/drivers/local/watch/folder-watch.ts'
import { WatchError } from '../../../../../services/drivers/feeds/feed.ts'
import { isRoot, ordinaryUser } from '../../../../support/ordinary-user.ts'
import { until } from '../../../../support/until.ts'
import { createFolder } from '../../../../support/migrations.ts'
import { watchFolder } from '../../../../support/watched-folder.ts'

test('tells of files that are made, written, renamed, removed, or get another mode, at every level', async () => {
  using watched = await watchFolder()
  const { at, told, untilTold } = watched
  writeFileSync(at('file'), 'x')
  writeFileSync(at('there/below/deep'), 'x')
  symlinkSync('nowhere', at('there/link'))
  await untilTold('file', 'there/below/deep', 'there/link')
  told.clear()
  appendFileSync(at('there/below/deep'), 'more')
  await untilTold('there/below/deep')
  chmodSync(at('file'), 0o600)
  chmodSync(at('there'), 0o700)
  await untilTold('file', 'there')
  told.clear()
  renameSync(at('file'), at('there/renamed'))
  rmSync(at('there/below/deep'))
  await untilTold('file', 'there/renamed', 'there/below/deep')
  expect(watched.watch.watches).toBe(3)
})

test('what is told of a folder itself is not taken for a child of its name, which it may have', async () => {
  using watched = await watchFolder()
  const { at, told, untilTold } = watched
  chmodSync(at('there/below'), 0o700)
  chmodSync(at(''), 0o700)
  writeFileSync(at('last'), 'x')
  await untilTold('there/below', 'last')
  // Root sees the same whatever the mode; to anybody else it may have closed or opened all that is in it.
  const ofRoot = isRoot ? [] : [':folder']
  expect([...told].toSorted()).toEqual([...ofRoot, 'last', 'there/below'])
  renameSync(at('there/below'), at('there/renamed'))
  await untilTold('there/below/', 'there/renamed/')
  told.clear()
  chmodSync(at('there/renamed'), 0o755)
  writeFileSync(at('there/renamed/below'), 'x')
  writeFileSync(at('there/renamed/renamed'), 'x')
  await untilTold('there/renamed', 'there/renamed/below', 'there/renamed/renamed')
  told.clear()
  rmSync(at('there/renamed/renamed'))
  mkdirSync(at('there/there'))
  await untilTold('there/renamed/renamed', 'there/there/')
  told.clear()
  rmSync(at('there/there'), { recursive: true })
  await untilTold('there/there/')
  expect([...told]).toEqual(['there/there/'])
})

test('folders that are made, and trees that are moved in, are watched before they are told', async () => {
  using watched = await watchFolder()
  const { at, outside, told, untilTold, watch } = watched
  mkdirSync(outside('tree/a/b'), { recursive: true })
  mkdirSync(at('new/one'), { recursive: true })
  renameSync(outside('tree'), at('there/tree'))
  await untilTold('new/', 'there/tree/')
  expect(watch.watches).toBe(8)
  told.clear()
  writeFileSync(at('new/one/file'), 'x')
  writeFileSync(at('there/tree/a/b/file'), 'x')
  await untilTold('new/one/file', 'there/tree/a/b/file')
})

test('a folder that is renamed is told whole, watched under its new name, and no longer under the old one', async () => {
  using watched = await watchFolder()
  const { at, outside, told, untilTold, watch } = watched
  renameSync(at('there'), at('elsewhere'))
  await untilTold('there/', 'elsewhere/')
  told.clear()
  writeFileSync(at('elsewhere/below/file'), 'x')
  await untilTold('elsewhere/below/file')
  expect([...told].filter((path) => path.startsWith('there'))).toEqual([])
  renameSync(at('elsewhere'), outside('gone'))
  await untilTold('elsewhere/')
  await until('1 folders are watched', () => watch.watches === 1)
  told.clear()
  writeFileSync(outside('gone/below/file'), 'x')
  writeFileSync(at('last'), 'x')
  await untilTold('last')
  expect([...told]).toEqual(['last'])
})

test('a folder that is replaced by a file, and back, and by another folder of the same name', async () => {
  using watched = await watchFolder()
  const { at, outside, told, untilTold, watch } = watched
  rmSync(at('there'), { recursive: true })
  writeFileSync(at('there'), 'x')
  await untilTold('there/')
  await until('1 folders are watched', () => watch.watches === 1)
  told.clear()
  rmSync(at('there'))
  mkdirSync(at('there/again'), { recursive: true })
  await untilTold('there/')
  mkdirSync(outside('other/inside'), { recursive: true })
  renameSync(at('there'), outside('away'))
  renameSync(outside('other'), at('there'))
  told.clear()
  await until('3 folders are watched', () => watch.watches === 3)
  await until('a file in the new folder is told', () => {
    writeFileSync(at('there/inside/file'), 'x')
    return told.has('there/inside/file')
  })
})

test('a burst of files and folders is told whole', async () => {
  using watched = await watchFolder()
  const { at, untilTold } = watched
  const wanted: string[] = []
  for (let folder = 0; folder < 50; folder++) {
    mkdirSync(at(`burst ${folder}/in`), { recursive: true })
    wanted.push(`burst ${folder}/`)
    for (let file = 0; file < 40; file++) {
      writeFileSync(at(`there/${folder} ${file}`), 'x')
      wanted.push(`there/${folder} ${file}`)
    }
  }
  await untilTold(...wanted)
  expect(watched.watch.watches).toBe(103)
})

test('names that are not text are told by their bytes', async () => {
  using watched = await watchFolder()
  const name = Buffer.from([0x66, 0xff, 0x6f])
  writeFileSync(Buffer.concat([Buffer.from(watched.at('there/')), name]), 'x')
  await watched.untilTold(`there/${name.toString('latin1')}`)
})

test('more folders than may be watched end it, at the beginning and later', async () => {
  await expect(watchFolder({ maxWatches: 2 })).rejects.toMatchObject({ isLimit: true })
  using watched = await watchFolder({ maxWatches: 4 })
  mkdirSync(watched.at('a/b/c'), { recursive: true })
  await until('it ends', () => watched.ends.length > 0)
  expect(watched.ends).toMatchObject([{ isLimit: true }])
  // They end in slices of time.
  await until('its watches are ended', () => watched.watch.watches === 0)
})

test('as many events in one turn as the system keeps may have been more: all is to be compared', async () => {
  using watched = await watchFolder({ events: new EventCount(100) })
  for (let i = 0; i < 200; i++) writeFileSync(watched.at(`there/${i}`), 'x')
  await watched.untilTold(':tree')
  watched.told.clear()
  writeFileSync(watched.at('one more'), 'x')
  await watched.untilTold('one more')
  expect(watched.told.has(':tree')).toBe(false)
})

test('the end of a tree with many watches fills the queue as well: those that go on compare everything', async () => {
  // Watches end in slices of time: on a slow machine, few of them in one turn.
  const events = new EventCount(2)
  using leaving = await watchFolder({ events })
  for (let i = 0; i < 60; i++) mkdirSync(leaving.at(`there/${i}`))
  await until('all are watched', () => leaving.watch.watches > 60)
  using staying = await watchFolder({ events })
  const added = vi.spyOn(events, 'add')
  const { watches } = leaving.watch
  leaving.watch.close()
  await until('all watches have ended', () => leaving.watch.watches === 0)
  expect(added.mock.calls.length).toBeGreaterThanOrEqual(watches)
  await staying.untilTold(':tree')
})

test('a root that is moved, removed or replaced ends it, however alike the new one is', async () => {
  for (const replace of [
    (root: string) => renameSync(root, `${root} 2`),
    (root: string) => rmSync(root, { recursive: true }),
    (root: string) => {
      renameSync(root, `${root} 2`)
      mkdirSync(root)
    },
  ]) {
    using watched = await watchFolder()
    replace(watched.at(''))
    await until('it ends', () => watched.ends.length > 0)
    expect(watched.ends[0]).toBeInstanceOf(WatchError)
    expect(watched.ends[0]?.isLimit).toBe(false)
  }
})

test('a root with a folder of its own name inside goes on', async () => {
  using watched = await watchFolder()
  mkdirSync(watched.at('source'))
  await watched.untilTold('source/')
  watched.told.clear()
  rmSync(watched.at('source'), { recursive: true })
  await watched.untilTold('source/')
  expect(watched.ends).toEqual([])
})

test('a root that is not there is refused', async () => {
  using folder = createFolder('source')
  const events = new EventCount()
  const options = { maxWatches: 10, events, onDirty: () => undefined, onEnd: () => undefined }
  const watch = new FolderWatch({ root: Buffer.from(join(folder.source, 'none')), ...options })
  await expect(watch.open()).rejects.toMatchObject({ isLimit: false })
})

test.each([0o000, 0o111, 0o200, 0o300, 0o400, 0o444])(
  'a folder that denies us what it has (%o), and then does not, is told as a whole, and watched',
  async (mode) => {
    // Nothing is denied to root.
    if (isRoot) process.seteuid?.(ordinaryUser)
    try {
      using watched = await watchFolder()
      const { at, told, untilTold } = watched
      for (const isRenamed of [false, true]) {
        const [made, name] = [`made-${isRenamed}`, isRenamed ? 'renamed' : 'made-false']
        mkdirSync(at(`${made}/below`), { recursive: true })
        writeFileSync(at(`${made}/below/file`), 'x')
        if (isRenamed) await untilTold(`${made}/`)
        chmodSync(at(made), mode)
        if (isRenamed) renameSync(at(made), at(name))
        await untilTold(`${name}/`)
        told.clear()
        chmodSync(at(name), 0o755)
        await untilTold(`${name}/`)
        writeFileSync(at(`${name}/below/later`), 'x')
        await untilTold(`${name}/below/later`)
      }
      expect(watched.ends).toEqual([])
    } finally {
      if (isRoot) process.seteuid?.(0)
    }
  },
)

test('a folder of Gantry itself is not watched, wherever its path leads by then', async () => {
  const leadTo = (name: string) => (source: string) => {
    rmSync(source, { recursive: true })
    symlinkSync(join(source, '..', name), source)
  }
  await expect(watchFolder({ own: 'source' })).rejects.toThrow('is the configuration folder')
  await expect(watchFolder({ own: 'outside', before: leadTo('outside') })).rejects.toThrow(
    'is the configuration folder',
  )
})

test('a folder of Gantry that is moved into what is watched is neither listed nor watched', async () => {
  using watched = await watchFolder({ own: 'outside' })
  const { at, outside, told, untilTold } = watched
  mkdirSync(outside('keys'))
  renameSync(outside(''), at('moved'))
  await until('it is told', () => [...told].some((path) => path.startsWith('moved')))
  writeFileSync(at('moved/secret'), 'x')
  writeFileSync(at('moved/keys/secret'), 'x')
  writeFileSync(at('there/after'), 'x')
  await untilTold('there/after')
  expect([...told].filter((path) => path.includes('secret'))).toEqual([])
})
