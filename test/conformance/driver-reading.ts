import { hash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { readableDigest } from '../../services/drivers/contract/driver.ts'
import { expectTime, failureOf, pattern, type Suite } from './driver-store.ts'

/** Larger than any read-ahead of a driver, and no multiple of anything. */
const sizeBytes = 700_001

export function filesAreRead({ driver, another, folder }: Suite): void {
  describe('open', () => {
    test('fails as gone where nothing stands', async () => {
      const { at, put } = await folder()
      await put('file', 'x')
      for (const path of [at('nothing'), at('nothing', 'below')]) {
        expect(await failureOf(driver().open(path))).toBe('gone')
      }
    })

    test('fails as unsupported for a folder, empty or not', async () => {
      const { at, put } = await folder()
      await driver().makeFolder(at('full'), {})
      await put('full/file', 'x')
      await driver().makeFolder(at('hollow'), {})
      expect(await failureOf(driver().open(at('full')))).toBe('unsupported')
      expect(await failureOf(driver().open(at('hollow')))).toBe('unsupported')
      expect(await failureOf(driver().open(Buffer.alloc(0)))).toBe('unsupported')
    })

    test('tells size and attributes', async () => {
      const { at, put } = await folder()
      const modifiedMs = 1_234_567_890_123.5
      await put('file', pattern(100), { modifiedMs, mode: 0o604 })
      const file = await driver().open(at('file'))
      expect(file.sizeBytes).toBe(100)
      expectTime(driver(), file.attributes, modifiedMs)
      expect(file.attributes.mode).toBe(driver().capabilities.modes ? 0o604 : undefined)
      await file.close()
    })
  })

  test('what is asked for with a signal ends with its reason, of a file that is open too', async () => {
    const { at, put } = await folder()
    await put('file', pattern(sizeBytes))
    // Nobody waits for what is synchronous inside.
    if (driver().capabilities.concurrency === 1) return
    const reason = new Error('stopped by the user')
    const signal = AbortSignal.abort(reason)
    await expect(driver().stat(at('file'), signal)).rejects.toBe(reason)
    await expect(driver().attributesOf(at('file'), { signal })).rejects.toBe(reason)
    await expect(driver().open(at('file'), { signal })).rejects.toBe(reason)
    const later = new AbortController()
    const file = await driver().open(at('file'), { contentLater: true, signal: later.signal })
    later.abort(reason)
    await expect(file.read(0, sizeBytes)).rejects.toBe(reason)
    await expect(file.verifyUnchanged()).rejects.toBe(reason)
    await file.close()
  })

  describe('read', () => {
    test('gives the same where content was to come later', async () => {
      const { at, put } = await folder()
      for (const content of [Buffer.alloc(0), pattern(100), pattern(sizeBytes)]) {
        await put('file', content)
        const [now, later] = [
          await driver().open(at('file')),
          await driver().open(at('file'), { contentLater: true }),
        ]
        expect(later).toMatchObject({
          sizeBytes: now.sizeBytes,
          version: now.version,
          attributes: now.attributes,
        })
        expect((await later.read(0, content.length)).equals(content)).toBe(true)
        await later.verifyUnchanged()
        await Promise.all([now.close(), later.close()])
      }
    })

    test('gives exactly the bytes of every range', async () => {
      const { at, put } = await folder()
      const content = pattern(sizeBytes)
      await put('file', content)
      const file = await driver().open(at('file'))
      const ranges = [
        [0, sizeBytes],
        [0, 1],
        [0, 4_096],
        [1, 131_072],
        [131_071, 2],
        [262_144, 65_536],
        [sizeBytes - 1, 1],
        [sizeBytes - 300_000, 300_000],
      ] as const
      for (const [offset, length] of ranges) {
        const bytes = await file.read(offset, length)
        expect(bytes.equals(content.subarray(offset, offset + length)), `${length} from ${offset}`).toBe(true)
      }
      await file.verifyUnchanged()
      await file.close()
    })

    test('the digests that the store keeps are of the content', async () => {
      const { at, put } = await folder()
      const bytes = pattern(sizeBytes)
      await put('replaced', 'before')
      for (const name of ['replaced', 'new']) {
        await put(name, bytes)
        const { digests } = (await driver().stat(at(name)))!
        const { kind, value } = readableDigest(digests) ?? {}
        if (kind !== undefined) expect(value).toBe(hash(kind, bytes, 'base64'))
      }
    })

    test('an empty file is read as nothing', async () => {
      const { at, put } = await folder()
      await put('empty', '')
      const file = await driver().open(at('empty'))
      expect(file.sizeBytes).toBe(0)
      expect(await file.read(0, 0)).toHaveLength(0)
      await file.verifyUnchanged()
      await file.close()
    })

    test('fails as changed beyond the end', async () => {
      const { at, put } = await folder()
      await put('file', pattern(1_000))
      const file = await driver().open(at('file'))
      expect(await failureOf(file.read(0, 1_001))).toBe('changed')
      expect(await failureOf(file.read(1_000, 1))).toBe('changed')
      await file.close()
    })
  })

  describe('version', () => {
    test('is equal for equal content in every process, and readable there', async () => {
      const { at, put } = await folder()
      const content = pattern(sizeBytes)
      await put('file', content)
      await using other = another()
      const here = await driver().open(at('file'))
      const there = await other.open(at('file'))
      expect(there.version).toBe(here.version)
      expect((await there.read(500_000, 1_000)).equals(content.subarray(500_000, 501_000))).toBe(true)
      await here.close()
      await there.close()
    })

    test('a file that was replaced is noticed, also with the same size', async () => {
      const { at, put } = await folder()
      for (const replacement of [pattern(sizeBytes, 2), pattern(sizeBytes - 1), Buffer.from('short')]) {
        await put('file', pattern(sizeBytes))
        const file = await driver().open(at('file'))
        await put('file', replacement)
        expect(await failureOf(file.read(400_000, 1_000))).toBe('changed')
        expect(await failureOf(file.verifyUnchanged())).toBe('changed')
        await file.close()
        const reopened = await driver().open(at('file'))
        expect(reopened.version).not.toBe(file.version)
        await reopened.verifyUnchanged()
        await reopened.close()
      }
    })
  })
}
