import { describe, expect, test } from 'vitest'
import { bodyOf, expectTime, failureOf, pattern, type Suite } from './driver-store.ts'

/** Whoever runs the tests: others can be given files by root alone. */
const ours = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 }

export function attributesAreKept({ driver, folder }: Suite): void {
  describe('attributes', () => {
    const attributes = { modifiedMs: 1_234_567_890_123.25, mode: 0o750, owner: ours }

    test('of files come back from each way to write one, or are said to be lost', async () => {
      const { at } = await folder()
      expect(await driver().put(at('put'), pattern(10), attributes)).toEqual([])
      const upload = await driver().beginUpload(at('upload'), { sizeBytes: 10, tag: 'test-tag', attributes })
      await driver().writePart(upload, 0, 0, bodyOf(pattern(10)))
      expect(await driver().commitUpload(upload, 1, attributes)).toEqual([])
      await driver().put(at('set'), pattern(10), { modifiedMs: 1_000 })
      expect(await driver().setAttributes(at('set'), attributes)).toEqual([])
      for (const name of ['put', 'upload', 'set']) {
        const found = await driver().attributesOf(at(name))
        expectTime(driver(), found, attributes.modifiedMs, name)
        expect(found, name).toMatchObject({ mode: attributes.mode, owner: ours })
        const file = await driver().open(at(name))
        expect(file.attributes, name).toMatchObject({ mode: attributes.mode, owner: ours })
        expect(file.nameCount).toBe(1)
        await file.close()
      }
    })

    test('of folders, whose time may move with what is made in them, can be set when all is made', async () => {
      const { at, put } = await folder()
      await driver().makeFolder(at('folder'), attributes)
      await put('folder/file', 'x')
      if (driver().capabilities.folderTimesMove)
        expect(await driver().setAttributes(at('folder'), attributes)).toEqual([])
      const found = await driver().attributesOf(at('folder'))
      expectTime(driver(), found, attributes.modifiedMs)
      expect(found).toMatchObject({ mode: attributes.mode, owner: ours })
    })

    test('are as exact for 1970, before it and between milliseconds', async () => {
      const { at, put } = await folder()
      for (const modifiedMs of [0, -1, -5_500.25, 0.5, -2_082_844_800_000]) {
        const time = { modifiedMs }
        for (const name of ['put', 'upload', 'set', 'folder']) await driver().remove(at(name))
        const lost = [await driver().put(at('put'), pattern(10), time)]
        const upload = await driver().beginUpload(at('upload'), {
          sizeBytes: 10,
          tag: 'test-tag',
          attributes: time,
        })
        await driver().writePart(upload, 0, 0, bodyOf(pattern(10)))
        lost.push(await driver().commitUpload(upload, 1, time))
        await put('set', 'x', attributes)
        lost.push(await driver().setAttributes(at('set'), time))
        await driver().makeFolder(at('folder'), {})
        lost.push(await driver().setAttributes(at('folder'), time))
        const isTooEarly = modifiedMs < (driver().capabilities.clock.earliestMs ?? modifiedMs)
        expect(lost.flat()).toEqual(isTooEarly ? lost.map(() => 'time') : [])
        for (const name of isTooEarly ? [] : ['put', 'upload', 'set', 'folder']) {
          expectTime(driver(), await driver().attributesOf(at(name)), modifiedMs, name)
          expectTime(driver(), await driver().stat(at(name)), modifiedMs, name)
        }
      }
    })

    test('that are given without a time leave that which there was', async () => {
      const { at, put } = await folder()
      await driver().makeFolder(at('folder'), {})
      await driver().setAttributes(at('folder'), attributes)
      await driver().setAttributes(at('folder'), {})
      expectTime(driver(), await driver().attributesOf(at('folder')), attributes.modifiedMs)
      await put('file', 'x', attributes)
      await driver().setAttributes(at('file'), { mode: 0o600 })
      const found = await driver().attributesOf(at('file'))
      expectTime(driver(), found, attributes.modifiedMs)
      expect(found?.mode).toBe(0o600)
    })

    test('are undefined where nothing stands', async () => {
      const { at, put } = await folder()
      await put('file', 'x')
      for (const path of [at('nothing'), at('file', 'below')])
        expect(await driver().attributesOf(path)).toBeUndefined()
      expect(await failureOf(driver().setAttributes(at('nothing'), attributes))).toBe('gone')
    })
  })
}
