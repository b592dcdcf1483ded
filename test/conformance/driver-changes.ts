import { describe, expect, test } from 'vitest'
import { expectTime, failureOf, never, type Suite } from './driver-store.ts'

export function entriesAreRemoved({ driver, folder, losesAnswers }: Suite): void {
  describe('remove', () => {
    test('takes a file away, and says whether there was one', async () => {
      const { at, names, put } = await folder()
      for (const name of ['file', 'fil', 'file 2']) await put(name, 'x')
      expect(await driver().remove(at('file'))).toBe(true)
      expect(await names()).toEqual(['fil', 'file 2'])
      expect(await driver().stat(at('file'))).toBeUndefined()
      expect(await driver().remove(at('file'))).toBe(false)
    })

    test('takes an empty folder away, its parent stays', async () => {
      const { at, names } = await folder()
      await driver().makeFolder(at('outer'), { mode: 0o755 })
      await driver().makeFolder(at('outer', 'inner'), {})
      expect(await driver().remove(at('outer', 'inner'))).toBe(true)
      expect(await names('outer')).toEqual([])
      expect(await names()).toEqual(['outer'])
      expect(await driver().remove(at('outer', 'inner'))).toBe(false)
    })

    test('leaves a folder that is not empty, and the root', async () => {
      const { at, names, content, put } = await folder()
      await driver().makeFolder(at('full'), {})
      await put('full/file', 'content')
      await driver().makeFolder(at('nest'), {})
      await driver().makeFolder(at('nest', 'egg'), {})
      for (const name of ['full', 'nest'])
        expect(await failureOf(driver().remove(at(name)))).toBe('unsupported')
      expect(await failureOf(driver().remove(Buffer.alloc(0)))).toBe('unsupported')
      expect(await content('full', 'file')).toEqual(Buffer.from('content'))
      expect(await names('nest')).toEqual(['egg'])
    })

    test('takes a link away, and not what it leads to', async () => {
      if (!driver().capabilities.symlinks) return
      const { at, names, put } = await folder()
      await put('file', 'x')
      await driver().makeFolder(at('full'), {})
      await put('full/inside', 'x')
      for (const target of ['file', 'full', 'nowhere']) {
        await driver().makeLink?.(at('link'), Buffer.from(target))
        expect(await driver().remove(at('link'))).toBe(true)
      }
      expect(await names()).toEqual(['file', 'full'])
      expect(await names('full')).toEqual(['inside'])
    })

    test('takes a file away only in the version that was seen', async () => {
      const { at, content, put } = await folder()
      await put('file', 'one')
      const opened = await driver().open(at('file'))
      const version = await driver().version(at('file'))
      expect(version).toBe(opened.version)
      await opened.close()
      await put('file', 'two')
      expect(await failureOf(driver().removeVersion(at('file'), version!))).toBe('changed')
      expect(await content('file')).toEqual(Buffer.from('two'))
      const now = await driver().version(at('file'))
      expect(now).not.toBe(version)
      await driver().persist?.(at('file'))
      expect(await driver().version(at('file'))).toBe(now)
      expect(await driver().removeVersion(at('file'), now!)).toBe(true)
      expect(await driver().stat(at('file'))).toBeUndefined()
      const gone = driver().removeVersion(at('file'), now!)
      // Who asks again as an answer was lost takes the file for the one that it removed.
      const answers = [false, 'changed', ...(losesAnswers() ? [true] : [])]
      expect(answers).toContain(await gone.catch(() => failureOf(gone)))
    })

    test('what was written is flushed, where the store has something to flush, also above what is not there', async () => {
      const { at, content, put, path } = await folder()
      await put('file', 'x')
      await driver().flush?.([path, at('nothing', 'below'), Buffer.alloc(0)], never)
      expect(await content('file')).toEqual(Buffer.from('x'))
      const reason = new Error('stopped')
      const stopped = driver().flush?.([path], AbortSignal.abort(reason))
      if (stopped !== undefined) await expect(stopped).rejects.toBe(reason)
    })

    test('nothing and a folder have no version, a link has its own', async () => {
      const { at, put } = await folder()
      await driver().makeFolder(at('full'), {})
      await put('full/file', 'x')
      for (const path of [at('full'), at('nothing'), at('nothing', 'below'), Buffer.alloc(0)])
        expect(await driver().version(path)).toBeUndefined()
      if (!driver().capabilities.symlinks) return
      await driver().makeLink?.(at('link'), Buffer.from('full/file'))
      await driver().persist?.(at('link'))
      const version = await driver().version(at('link'))
      expect(version).not.toBe(await driver().version(at('full', 'file')))
      expect(await driver().removeVersion(at('link'), version!)).toBe(true)
      expect(await driver().version(at('full', 'file'))).toBeDefined()
    })

    test('finds nothing below what is not there, or below a file', async () => {
      const { at, put } = await folder()
      await put('file', 'x')
      expect(await driver().remove(at('nothing', 'below'))).toBe(false)
      expect(await driver().remove(at('file', 'below'))).toBe(false)
      expect(await driver().stat(at('file'))).toBeDefined()
    })

    test('a name can be used again, for a file and for a folder', async () => {
      const { at, content, names, put } = await folder()
      await put('name', 'file')
      await driver().remove(at('name'))
      await driver().makeFolder(at('name'), {})
      await put('name/inside', 'x')
      await driver().remove(at('name', 'inside'))
      await driver().remove(at('name'))
      await put('name', 'file again')
      expect(await content('name')).toEqual(Buffer.from('file again'))
      expect(await names()).toEqual(['name'])
    })
  })
}

export function attributesAreSet({ driver, folder }: Suite): void {
  describe('setAttributes', () => {
    test('changes time and mode of a file, and leaves its content', async () => {
      const { at, content, put } = await folder()
      await put('file', 'content', { modifiedMs: 1_000, mode: 0o600 })
      await driver().setAttributes(at('file'), { modifiedMs: 1_600_000_000_123.25, mode: 0o754 })
      const entry = await driver().stat(at('file'))
      expectTime(driver(), entry, 1_600_000_000_123.25)
      if (driver().capabilities.modes) expect(entry?.mode).toBe(0o754)
      expect(await content('file')).toEqual(Buffer.from('content'))
    })

    test('changes the mode of a folder, with and without anything in it', async () => {
      const { at, names, put } = await folder()
      await driver().makeFolder(at('full'), { mode: 0o755 })
      await put('full/file', 'x')
      await driver().makeFolder(at('hollow'), { mode: 0o755 })
      for (const name of ['full', 'hollow']) {
        await driver().setAttributes(at(name), { modifiedMs: 1_000, mode: 0o711 })
        if (driver().capabilities.modes) expect((await driver().stat(at(name)))?.mode).toBe(0o711)
      }
      expect(await names()).toEqual(['full', 'hollow'])
      expect(await names('full')).toEqual(['file'])
    })

    test('leaves the mode when none is given', async () => {
      const { at, put } = await folder()
      await put('file', 'content', { modifiedMs: 1_000, mode: 0o640 })
      await driver().setAttributes(at('file'), { modifiedMs: 5_000 })
      const entry = await driver().stat(at('file'))
      expect(entry?.modifiedMs).toBe(5_000)
      if (driver().capabilities.modes) expect(entry?.mode).toBe(0o640)
    })

    test('fails as gone where nothing stands, and never follows a link', async () => {
      const { at, put } = await folder()
      expect(await failureOf(driver().setAttributes(at('nothing'), { modifiedMs: 1_000 }))).toBe('gone')
      if (!driver().capabilities.symlinks) return
      await put('file', 'x', { modifiedMs: 1_000, mode: 0o600 })
      await driver().makeLink?.(at('link'), Buffer.from('file'))
      const changed = driver().setAttributes(at('link'), { modifiedMs: 9_000, mode: 0o644 })
      expect(await failureOf(changed)).toBe('unsupported')
      expect(await driver().stat(at('file'))).toMatchObject({ modifiedMs: 1_000, mode: 0o600 })
    })
  })
}
