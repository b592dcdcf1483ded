import { describe, expect, test } from 'vitest'
import { failureOf, join, listAll, never, type Suite } from './driver-store.ts'

/** More than fit into one batch. */
const manyFiles = 1_100

/** Operations under way at once in the tests. */
const lanes = 16

/** As deep as the trees that must be migrated. */
const levels = 40

export function foldersAreListed({ driver, another, folder }: Suite): void {
  describe('root', () => {
    test('probe resolves when the root is there', async () => {
      await driver().probe(never)
    })

    test('the root is a folder and can be listed', async () => {
      const { path } = await folder()
      expect((await driver().stat(Buffer.alloc(0)))?.type).toBe('folder')
      const names = (await listAll(driver(), Buffer.alloc(0))).map(({ name }) => name.toString())
      expect(names).toContain(path.toString())
    })

    test('the root can be made, for it is there already', async () => {
      await driver().makeFolder(Buffer.alloc(0), {})
    })
  })

  describe('list', () => {
    test('an empty folder has no entries, not even itself or its marker', async () => {
      const { entries } = await folder()
      expect(await entries()).toEqual([])
    })

    test('files and folders come once each, with type and size', async () => {
      const { at, entries, put } = await folder()
      await put('file', 'content')
      await put('empty', '')
      await driver().makeFolder(at('full'), {})
      await driver().makeFolder(at('hollow'), {})
      await put('full/inside', 'x')
      const seen = (await entries()).map(({ name, type, sizeBytes }) => [name.toString(), type, sizeBytes])
      expect(seen.toSorted(([a = ''], [b = '']) => (a < b ? -1 : 1))).toEqual([
        ['empty', 'file', 0],
        ['file', 'file', 7],
        ['full', 'folder', 0],
        ['hollow', 'folder', 0],
      ])
    })

    test('a name that begins like a folder’s is not taken for it', async () => {
      const { at, names, put } = await folder()
      await driver().makeFolder(at('a'), {})
      for (const name of ['a!', 'a-b', 'a.b', 'a0', 'ab', 'a/inside', 'aa']) await put(name, name)
      expect(await names()).toEqual(['a', 'a!', 'a-b', 'a.b', 'a0', 'aa', 'ab'])
      expect(await names('a')).toEqual(['inside'])
    })

    test('a large folder comes in several pages, each entry once', { timeout: 60_000 }, async () => {
      const { at, entries } = await folder()
      const wanted = Array.from({ length: manyFiles }, (_, i) => `file ${i}`)
      const queue = wanted.values()
      const lane = async () => {
        for (const name of queue) await driver().put(at(name), Buffer.from(name), {})
      }
      await Promise.all(Array.from({ length: lanes }, lane))
      const names = (await entries()).map(({ name }) => name.toString())
      expect(names.toSorted()).toEqual(wanted.toSorted())
    })

    test('folders within folders', async () => {
      const { path, at, names, content } = await folder()
      let deep = path
      for (let level = 1; level <= levels; level++) {
        deep = join(deep, `level ${level}`)
        await driver().makeFolder(deep, {})
      }
      await driver().put(join(deep, 'file'), Buffer.from('deep'), {})
      const segments = Array.from({ length: levels }, (_, i) => `level ${i + 1}`)
      for (let level = 0; level < levels; level++) {
        expect(await names(...segments.slice(0, level))).toEqual([`level ${level + 1}`])
      }
      expect(await content(...segments, 'file')).toEqual(Buffer.from('deep'))
      expect((await driver().stat(at(...segments)))?.type).toBe('folder')
    })

    test('where folders are implied, what names begin with is one, as long as there is such a name', async () => {
      if (driver().capabilities.folders === 'real') return
      const { at, entries, names, put } = await folder()
      await put('implied/deep/file', 'x')
      expect((await entries()).map(({ name, type }) => [name.toString(), type])).toEqual([
        ['implied', 'folder'],
      ])
      expect((await driver().stat(at('implied')))?.type).toBe('folder')
      expect(await names('implied')).toEqual(['deep'])
      expect(await failureOf(driver().remove(at('implied')))).toBe('unsupported')
      expect(await driver().remove(at('implied', 'deep', 'file'))).toBe(true)
      expect(await names()).toEqual([])
      expect(await driver().stat(at('implied'))).toBeUndefined()
    })

    test('fails as gone when there is no such folder, also where a file stands', async () => {
      const { entries, put } = await folder()
      await put('file', 'x')
      expect(await failureOf(entries('nothing'))).toBe('gone')
      expect(await failureOf(entries('nothing', 'below'))).toBe('gone')
      expect(await failureOf(entries('file'))).toBe('gone')
    })

    test('the consumer may stop early', async () => {
      const { path, put, names } = await folder()
      for (const name of ['1', '2', '3']) await put(name, name)
      for await (const { entries } of driver().list(path, never)) {
        expect(entries.length).toBeGreaterThan(0)
        break
      }
      expect(await names()).toEqual(['1', '2', '3'])
    })

    test('a limit holds for each page, and all the pages together are the folder', async () => {
      const { path, at, put, names } = await folder()
      for (const name of ['a', 'c']) await driver().makeFolder(at(name), {})
      for (const name of ['a!', 'a-b', 'a/inside', 'b', 'c/inside']) await put(name, name)
      for (const limit of [1, 2, 5, 5_000]) {
        const pages = await Array.fromAsync(driver().list(path, never, { limit }))
        for (const { entries } of pages) expect(entries.length).toBeLessThanOrEqual(limit)
        const all = pages.flatMap(({ entries }) => entries.map(({ name }) => name.toString('latin1')))
        expect(all.toSorted()).toEqual(await names())
      }
    })

    test('after a cursor comes what came after its page, each entry once, in another process too', async () => {
      const { path, at, put, names } = await folder()
      await using other = another()
      for (const name of ['a', 'c', 'empty']) await driver().makeFolder(at(name), {})
      for (const name of ['a!', 'a-b', 'a.b', 'a/inside', 'a0', 'b', 'c/inside', 'd']) await put(name, name)
      const all = await names()
      let cursors = 0
      for (const limit of [1, 2, 3]) {
        const seen: Buffer[] = []
        for await (const { entries, cursor } of driver().list(path, never, { limit })) {
          seen.push(...entries.map(({ name }) => name))
          if (cursor === undefined) continue
          cursors++
          const rest = await Array.fromAsync(other.list(path, never, { after: cursor }))
          const both = [...seen, ...rest.flatMap((page) => page.entries.map(({ name }) => name))]
          expect(both.map((name) => name.toString('latin1')).toSorted()).toEqual(all)
        }
      }
      // A folder of a host is read from its beginning; all other stores can go on.
      if (driver().capabilities.folders === 'implied') expect(cursors).toBeGreaterThan(all.length)
    })

    test('a folder that is emptied meanwhile has nothing more after a cursor', async () => {
      const { path, at, put } = await folder()
      for (const name of ['a', 'b', 'c']) await put(name, name)
      const [first] = await Array.fromAsync(driver().list(path, never, { limit: 1 }))
      for (const name of ['a', 'b', 'c']) await driver().remove(at(name))
      if (first?.cursor === undefined) return
      expect(await Array.fromAsync(driver().list(path, never, { after: first.cursor }))).toEqual([])
    })

    test('an aborted listing ends with the reason', async () => {
      const { path, put } = await folder()
      await put('file', 'x')
      const reason = new Error('stopped by the user')
      const list = driver().list(path, AbortSignal.abort(reason))
      await expect(Array.fromAsync(list)).rejects.toBe(reason)
      await expect(driver().probe(AbortSignal.abort(reason))).rejects.toBe(reason)
    })
  })

  describe('stat', () => {
    test('tells file and folder, as the listing does', async () => {
      const { at, entries, put } = await folder()
      await put('file', 'content', { modifiedMs: 1_600_000_000_123.25, mode: 0o640 })
      await driver().makeFolder(at('folder'), {})
      const listed = await entries()
      expect(listed).toHaveLength(2)
      const { listsAttributes } = driver().capabilities
      for (const entry of listed) {
        const stated = await driver().stat(at(entry.name))
        if (listsAttributes) expect(stated).toEqual(entry)
        else expect(stated).toMatchObject(entry)
      }
    })

    test('is undefined where nothing stands', async () => {
      const { at, put } = await folder()
      await put('file', 'x')
      for (const path of [
        at('nothing'),
        at('nothing', 'below'),
        at('file', 'below'),
        at('fil'),
        at('FILE'),
      ]) {
        expect(await driver().stat(path)).toBeUndefined()
      }
    })
  })

  describe('makeFolder', () => {
    test('is no error when the folder is there, and leaves what is in it', async () => {
      const { at, names, put } = await folder()
      await driver().makeFolder(at('folder'), {})
      await put('folder/file', 'x')
      await driver().makeFolder(at('folder'), {})
      await driver().makeFolder(at('folder'), { mode: 0o700 })
      expect(await names('folder')).toEqual(['file'])
    })

    test('keeps the mode where the store can', async () => {
      const { at } = await folder()
      await driver().makeFolder(at('folder'), { mode: 0o751 })
      const mode = driver().capabilities.modes ? 0o751 : undefined
      expect((await driver().stat(at('folder')))?.mode).toBe(mode)
    })

    test('fails where a file stands, and leaves the file', async () => {
      const { at, content, put } = await folder()
      await put('file', 'content')
      expect(await failureOf(driver().makeFolder(at('file'), {}))).toBe('unsupported')
      expect(await content('file')).toEqual(Buffer.from('content'))
    })
  })
}
