import { describe, expect, test } from 'vitest'
import {
  bodyPieceBytes,
  type Driver,
  type FileAttributes,
  StoreError,
  type StorePath,
  type Upload,
} from '../../services/drivers/contract/driver.ts'
import { bodyOf, expectTime, failureOf, pattern, type Suite } from './driver-store.ts'

interface Part {
  readonly index: number
  readonly offset: number
  readonly bytes: Buffer
}

const write = (to: Driver, upload: Upload, part: Part | undefined) =>
  part && to.writePart(upload, part.index, part.offset, bodyOf(part.bytes))

export function uploadsAreWhole({ driver, another, folder }: Suite): void {
  /** Content of two parts and a bit, and how it is cut. */
  function parts(seed = 1): { content: Buffer; cut: Part[] } {
    const partBytes = driver().capabilities.parts.sizeFor(0)
    const content = pattern(2 * partBytes + 1_001, seed)
    expect(driver().capabilities.parts.sizeFor(content.length)).toBe(partBytes)
    const cut = [0, 1, 2].map((index) => {
      const offset = index * partBytes
      return { index, offset, bytes: content.subarray(offset, offset + partBytes) }
    })
    return { content, cut }
  }
  /** A token travels through messages and databases as JSON. */
  const begin = async (
    path: StorePath,
    sizeBytes: number,
    attributes: FileAttributes = {},
  ): Promise<Upload> =>
    JSON.parse(JSON.stringify(await driver().beginUpload(path, { sizeBytes, tag: 'test-tag', attributes })))
  const isSequential = () => driver().capabilities.parts.order === 'sequential'

  describe('upload', () => {
    test('parts in any order that the store takes, repeated, from several processes make the file', async () => {
      const { at, content: contentOf, names } = await folder()
      await using other = another()
      const { content, cut } = parts()
      const attributes = { modifiedMs: 1_500_000_000_250.5, mode: 0o640 }
      const upload = await begin(at('file'), content.length, attributes)
      if (isSequential()) {
        for (const part of cut) await write(part.index % 2 === 0 ? driver() : other, upload, part)
      } else {
        await write(other, upload, cut[2])
        await Promise.all([write(driver(), upload, cut[1]), write(other, upload, cut[0])])
      }
      await write(driver(), upload, cut[2])
      expect(await driver().stat(at('file'))).toBeUndefined()
      expect(await names()).not.toContain('file')
      await other.commitUpload(upload, cut.length, attributes)
      expect((await contentOf('file')).equals(content)).toBe(true)
      expect(await names()).toEqual(['file'])
      const entry = await driver().stat(at('file'))
      expect(entry?.sizeBytes).toBe(content.length)
      expectTime(driver(), entry, attributes.modifiedMs)
      expect(entry?.mode).toBe(driver().capabilities.modes ? 0o640 : undefined)
    })

    test('a repeated commit is harmless, from another process too', async () => {
      const { at, content: contentOf, names } = await folder()
      await using other = another()
      const bytes = pattern(1_000)
      const attributes = { modifiedMs: 1_000, mode: 0o600 }
      const upload = await begin(at('file'), bytes.length, attributes)
      await driver().writePart(upload, 0, 0, bodyOf(bytes))
      await driver().commitUpload(upload, 1, attributes)
      await driver().commitUpload(upload, 1, attributes)
      await other.commitUpload(upload, 1, attributes)
      expect((await contentOf('file')).equals(bytes)).toBe(true)
      expect(await names()).toEqual(['file'])
    })

    test('an existing file stays until the commit, and is replaced by it', async () => {
      const { at, content: contentOf, put } = await folder()
      await put('file', 'old')
      const bytes = pattern(2_000)
      const upload = await begin(at('file'), bytes.length)
      await driver().writePart(upload, 0, 0, bodyOf(bytes))
      expect((await contentOf('file')).toString()).toBe('old')
      await driver().commitUpload(upload, 1, {})
      expect((await contentOf('file')).equals(bytes)).toBe(true)
    })

    test('an empty file needs no part', async () => {
      const { at, content: contentOf } = await folder()
      const upload = await begin(at('empty'), 0)
      await driver().commitUpload(upload, 0, {})
      expect(await contentOf('empty')).toHaveLength(0)
    })

    test('a part is read in pieces, and what cannot be read is not written', async () => {
      const { at, names } = await folder()
      const { content, cut } = parts()
      const upload = await begin(at('file'), content.length)
      const [first] = cut
      const most = Math.max(bodyPieceBytes, driver().capabilities.maxPutBytes)
      const asked: number[] = []
      const body = bodyOf(first!.bytes)
      const counted = {
        ...body,
        read: (offset: number, length: number) => {
          asked.push(length)
          return body.read(offset, length)
        },
      }
      await driver().writePart(upload, 0, 0, counted)
      expect(Math.max(...asked)).toBeLessThanOrEqual(most)
      const changed = new StoreError('changed', 'the file is another one')
      const unreadable = { ...body, read: () => Promise.reject(changed) }
      const again = await begin(at('other'), content.length)
      await expect(driver().writePart(again, 0, 0, unreadable)).rejects.toBe(changed)
      expect((await driver().writtenParts(again, first!.bytes.length)) ?? []).toEqual([])
      for (const one of [upload, again]) await driver().abortUpload(one)
      expect(await names()).toEqual([])
    })

    test('two uploads of one file do not mix', async () => {
      const { at, content: contentOf } = await folder()
      const [one, two] = [pattern(3_000, 1), pattern(3_000, 2)]
      const [first, second] = [await begin(at('file'), 3_000), await begin(at('file'), 3_000)]
      await driver().writePart(first, 0, 0, bodyOf(one))
      await driver().writePart(second, 0, 0, bodyOf(two))
      await driver().commitUpload(second, 1, {})
      expect((await contentOf('file')).equals(two)).toBe(true)
      await driver().abortUpload(first)
      expect((await contentOf('file')).equals(two)).toBe(true)
    })

    test('a commit with the last part missing or of the wrong size fails as corrupt, and nothing appears', async () => {
      const { at, names } = await folder()
      const { content, cut } = parts(3)
      const upload = await begin(at('file'), content.length)
      for (const part of cut.slice(0, 2)) await write(driver(), upload, part)
      expect(await failureOf(driver().commitUpload(upload, cut.length, {}))).toBe('corrupt')
      const short = await begin(at('short'), 1_000)
      await driver().writePart(short, 0, 0, bodyOf(pattern(999)))
      expect(await failureOf(driver().commitUpload(short, 1, {}))).toBe('corrupt')
      expect(await driver().stat(at('file'))).toBeUndefined()
      expect(await driver().stat(at('short'))).toBeUndefined()
      await driver().abortUpload(upload)
      await driver().abortUpload(short)
      expect(await names()).toEqual([])
    })

    test('fails where a folder stands, and leaves the folder', async () => {
      const { at, names } = await folder()
      await driver().makeFolder(at('folder'), {})
      const attempt = async () => {
        const upload = await begin(at('folder'), 10)
        await driver().writePart(upload, 0, 0, bodyOf(pattern(10)))
        await driver().commitUpload(upload, 1, {})
      }
      expect(await failureOf(attempt())).toBe('unsupported')
      expect((await driver().stat(at('folder')))?.type).toBe('folder')
      expect(await names('folder')).toEqual([])
    })
  })

  describe('an upload of a version of a file', () => {
    const of = async (path: StorePath, sizeBytes: number, version: string): Promise<Upload> => {
      const upload = await driver().beginUpload(
        path,
        { sizeBytes, tag: 'test-tag', attributes: {} },
        { version, liveThreads: [] },
      )
      return JSON.parse(JSON.stringify(upload))
    }

    test('goes on with the parts that are written, from another process too', async () => {
      const { at, content: contentOf, names } = await folder()
      await using other = another()
      const { content, cut } = parts()
      const first = await of(at('file'), content.length, 'version 1')
      expect(first.written ?? []).toEqual([])
      const [written, missing] = isSequential() ? [[0, 1], [2]] : [[0, 2], [1]]
      for (const index of written) await write(index === 0 ? other : driver(), first, cut[index])
      const second = await of(at('file'), content.length, 'version 1')
      expect(second.written).toEqual(written)
      for (const index of missing) await write(other, second, cut[index])
      await driver().commitUpload(second, cut.length, {})
      expect((await contentOf('file')).equals(content)).toBe(true)
      expect(await names()).toEqual(['file'])
    })

    test('takes no part of another version, size, file or owner', async () => {
      const { at, content: contentOf, names } = await folder()
      const { content, cut } = parts()
      const first = await of(at('file'), content.length, 'version 1')
      for (const part of cut.slice(0, 2)) await write(driver(), first, part)
      const others = [
        await driver().beginUpload(
          at('file'),
          { sizeBytes: content.length, tag: 'other-tag', attributes: {} },
          {
            version: 'version 1',
            liveThreads: [],
          },
        ),
        await of(at('other'), content.length, 'version 1'),
        await of(at('file'), content.length - 1, 'version 1'),
        await of(at('file'), content.length, 'version 2'),
      ]
      for (const { written = [] } of others) expect(written).toEqual([])
      const last = await of(at('file'), content.length, 'version 3')
      for (const part of cut) await write(driver(), last, part)
      await driver().commitUpload(last, cut.length, {})
      expect((await contentOf('file')).equals(content)).toBe(true)
      for (const upload of [first, ...others]) await driver().abortUpload(upload)
      expect(await names()).toEqual(['file'])
    })
  })

  describe('abort', () => {
    test('leaves nothing to see, may be repeated, and the name can be written again', async () => {
      const { at, content: contentOf, names } = await folder()
      const upload = await begin(at('file'), 5_000)
      await driver().writePart(upload, 0, 0, bodyOf(pattern(5_000)))
      await driver().abortUpload(upload)
      await driver().abortUpload(upload)
      expect(await names()).toEqual([])
      const again = await begin(at('file'), 1_000)
      await driver().writePart(again, 0, 0, bodyOf(pattern(1_000)))
      await driver().commitUpload(again, 1, {})
      expect((await contentOf('file')).equals(pattern(1_000))).toBe(true)
    })

    test('never fails for an upload that is unknown', async () => {
      await driver().abortUpload({ token: '', sizeBytes: 1 })
      await driver().abortUpload({ token: 'bm90aGluZw:~nobody~made~this:1', sizeBytes: 1 })
    })

    test('leaves a file alone that was committed', async () => {
      const { at, content: contentOf } = await folder()
      const upload = await begin(at('file'), 1_000)
      await driver().writePart(upload, 0, 0, bodyOf(pattern(1_000)))
      await driver().commitUpload(upload, 1, {})
      await driver().abortUpload(upload)
      expect((await contentOf('file')).equals(pattern(1_000))).toBe(true)
    })
  })
}
