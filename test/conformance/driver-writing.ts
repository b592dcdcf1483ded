import { describe, expect, test } from 'vitest'
import { contentOf, expectTime, failureOf, pattern, type Suite } from './driver-store.ts'

export function filesAreWritten({ driver, another, folder }: Suite): void {
  describe('capabilities', () => {
    test('parts of any size of file are of lawful size', () => {
      const { capabilities } = driver()
      expect(capabilities.maxPutBytes).toBeGreaterThan(0)
      expect(capabilities.concurrency).toBeGreaterThanOrEqual(1)
      for (const sizeBytes of [0, 1, capabilities.maxPutBytes + 1, 2 ** 30, 2 ** 40]) {
        const partBytes = capabilities.parts.sizeFor(sizeBytes)
        expect(Number.isSafeInteger(partBytes) && partBytes > 0, `${partBytes} for ${sizeBytes}`).toBe(true)
      }
    })

    test('what is optional is there if and only if the feature says so', () => {
      const { symlinks } = driver().capabilities
      expect('readLink' in driver()).toBe(symlinks)
      expect('makeLink' in driver()).toBe(symlinks)
    })
  })

  describe('refuses', () => {
    test('nothing that is plain', () => {
      const path = Buffer.from('folder/file.txt')
      expect(driver().refuses(path, { type: 'file', sizeBytes: 0 })).toBeUndefined()
      expect(driver().refuses(path, { type: 'file', sizeBytes: 2 ** 40 })).toBeUndefined()
      expect(driver().refuses(path, { type: 'folder', sizeBytes: 0 })).toBeUndefined()
    })

    test('what is neither file, folder nor link, and links where they cannot be kept', () => {
      const path = Buffer.from('folder/thing')
      expect(driver().refuses(path, { type: 'other', sizeBytes: 0 })).toMatch(/\w/)
      const reason = driver().refuses(path, { type: 'symlink', sizeBytes: 0 })
      expect(reason === undefined).toBe(driver().capabilities.symlinks)
    })
  })

  describe('put', () => {
    test('writes what it is given, up to the size that it promises', async () => {
      const { content, put } = await folder()
      for (const sizeBytes of [0, 1, 4_096, driver().capabilities.maxPutBytes]) {
        const bytes = pattern(sizeBytes)
        await put(`${sizeBytes} bytes`, bytes)
        expect((await content(`${sizeBytes} bytes`)).equals(bytes), `${sizeBytes} bytes`).toBe(true)
      }
    })

    test('makes a file only where none is, in stores that make sure of it', async () => {
      const { at, content, put } = await folder()
      await put('there', 'first')
      const outcome = (name: string) => driver().putNew?.(at(name), Buffer.from('second'), {})
      if (driver().putNew === undefined) return
      expect(await failureOf(outcome('there')!)).toBe('changed')
      await outcome('new')
      expect((await content('new')).toString()).toBe('second')
      expect(await failureOf(outcome('new')!)).toBe('changed')
      expect((await content('there')).toString()).toBe('first')
    })

    test('keeps time and mode as far as the store can', async () => {
      const { at, put } = await folder()
      const times = [1_700_000_000_123.25, 1_000, 4_102_444_800_000]
      for (const [i, modifiedMs] of times.entries()) {
        const mode = [0o600, 0o444, 0o755][i] ?? 0
        await put(`file ${i}`, 'x', { modifiedMs, mode })
        const entry = await driver().stat(at(`file ${i}`))
        expectTime(driver(), entry, modifiedMs)
        expect(entry?.mode).toBe(driver().capabilities.modes ? mode : undefined)
      }
    })

    test('replaces a file with all that belongs to it', async () => {
      const { at, content, names, put } = await folder()
      await put('file', pattern(10_000), { modifiedMs: 1_000, mode: 0o600 })
      for (const [i, sizeBytes] of [5, 20_000, 0, 5].entries()) {
        const bytes = pattern(sizeBytes, i + 2)
        await put('file', bytes, { modifiedMs: 2_000 + i, mode: 0o640 })
        expect((await content('file')).equals(bytes)).toBe(true)
        const entry = await driver().stat(at('file'))
        expect(entry?.sizeBytes).toBe(sizeBytes)
        expectTime(driver(), entry, 2_000 + i)
        if (driver().capabilities.modes) expect(entry?.mode).toBe(0o640)
      }
      expect(await names()).toEqual(['file'])
    })

    test('the bytes may be reused afterwards', async () => {
      const { at, content } = await folder()
      const bytes = pattern(50_000)
      const wanted = Buffer.from(bytes)
      await driver().put(at('file'), bytes, {})
      bytes.fill(0)
      expect((await content('file')).equals(wanted)).toBe(true)
    })

    test('fails where a folder stands, and leaves the folder', async () => {
      const { at, names, put } = await folder()
      for (const name of ['full', 'hollow']) await driver().makeFolder(at(name), {})
      await put('full/file', 'x')
      for (const name of ['full', 'hollow']) expect(await failureOf(put(name, 'y'))).toBe('unsupported')
      expect(await names()).toEqual(['full', 'hollow'])
      expect(await names('full')).toEqual(['file'])
      expect(await names('hollow')).toEqual([])
    })

    test('many at once', async () => {
      const { at, content, names } = await folder()
      const count = driver().capabilities.concurrency * 4 + 8
      const files = Array.from({ length: count }, (_, i) => ({
        name: `file ${i}`,
        bytes: pattern(3_000 + i, i),
      }))
      await Promise.all(files.map(({ name, bytes }) => driver().put(at(name), bytes, {})))
      expect(await names()).toEqual(files.map(({ name }) => name).toSorted())
      for (const { name, bytes } of files) expect((await content(name)).equals(bytes), name).toBe(true)
    })

    test('of two at the same name one stays, whole; who reads meanwhile sees one of them, whole', async () => {
      const { at, put } = await folder()
      await using other = another()
      const candidates = Array.from({ length: 12 }, (_, i) => Buffer.alloc(40_000 + i, i + 1))
      await put('file', Buffer.alloc(40_000, 99))
      const known = [Buffer.alloc(40_000, 99), ...candidates]
      const isKnown = (bytes: Buffer) => known.some((candidate) => candidate.equals(bytes))
      const write = (bytes: Buffer, i: number) => (i % 2 === 0 ? driver() : other).put(at('file'), bytes, {})
      const watch = async () => {
        // Between opening and reading the file may be replaced, which must be noticed.
        const bytes = await contentOf(driver(), at('file')).catch(async (error: unknown) => {
          expect(await failureOf(Promise.reject(error))).toBe('changed')
          return candidates[0] ?? Buffer.alloc(0)
        })
        expect(isKnown(bytes)).toBe(true)
      }
      await Promise.all(candidates.flatMap((bytes, i) => [write(bytes, i), watch()]))
      expect(isKnown(await contentOf(driver(), at('file')))).toBe(true)
    })
  })
}
