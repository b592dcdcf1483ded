import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { failureOf, type Suite } from './driver-store.ts'

/**
 * Names that have gone wrong in some tool or other, separated by the one character that no name has. No store needs to
 * hold all; none may change one.
 */
const awkwardText = [
  ' / leading/trailing /two  spaces/tab\there/new\nline/\nfirst/last\n/line\r\nend/\r',
  '%/%%/100%/%41/%2F/%2f%2e%2e/%zz/%0A/+/a+b/#/#anchor/?/a?b=c&d/&/&amp;/</>/<a>/]]>/&#10;',
  '"/\'/`/"both\'/\\/back\\slash/*/?*/|/:/c:/;/,/!/~/@/$/$(id)/^/=/{}/[a]/(b)/-/--help/_',
  '.hidden/..two/a..b/.../dot./dots../CON/nul.txt/Case/case/hdi_isfolder/$root/__proto__/constructor',
  'é/e\u0301/ü/ß/ﬁ/中文/עברית/🙂/👩‍👩‍👧/\ufeffbom/zero\u200bwidth/\u202eright/\u00a0/\u0085/\u2028/\u007f/\u0001/\u001f',
  '\ue000/\ufffd/\ufffe/\uffff/\u{10ffff}',
].join('/')

/** As long as the names of most file systems may be, nearly. */
const long = [
  'a'.repeat(250),
  'ä'.repeat(125),
  '🙂'.repeat(62),
  ' '.repeat(250),
  '%'.repeat(250),
  '\n'.repeat(250),
]

/** Broken UTF-8: a byte that never occurs, a sequence cut short, a surrogate, an overlong slash, a lone continuation. */
const notText = [[0x66, 0xff, 0x6f], [0xc3], [0xed, 0xa0, 0x80], [0xc0, 0xaf], [0x80]]

/** All of them, as bytes. */
export const awkwardNames: readonly Buffer[] = [...awkwardText.split('/'), ...long, ...notText].map((name) =>
  Buffer.from(name),
)

/** All that a segment of a path may be. */
const anyName = fc
  .uint8Array({ minLength: 1, maxLength: 60 })
  .map((bytes) => Buffer.from(bytes))
  .filter(
    (name) => !name.includes('/') && !name.includes(0) && !['.', '..'].includes(name.toString('latin1')),
  )

/** Text finds the trouble of encodings sooner than random bytes do. */
const anyText = fc
  .string({ unit: 'binary', minLength: 1, maxLength: 40 })
  .map((text) => Buffer.from(text.replaceAll(/[/\0]/g, 'x')))
  .filter((name) => !['.', '..'].includes(name.toString('latin1')))

const keys = (names: readonly Buffer[]) => names.map((name) => name.toString('latin1')).toSorted()

export function namesAreKept({ driver, folder, refusedName }: Suite): void {
  const isRefused = (path: Buffer) => driver().refuses(path, { type: 'file', sizeBytes: 1 }) !== undefined

  /** Writes files with these names; each is either refused and absent, or listed, found and read by the same bytes. */
  async function roundTrip(given: readonly Buffer[]): Promise<void> {
    const { at, names, content } = await folder()
    const kept: Buffer[] = []
    for (const name of given) {
      const put = driver().put(at(name), name, {})
      if (isRefused(at(name))) expect(await failureOf(put), name.toString('latin1')).toBe('name')
      else kept.push(name)
      await put.catch(() => undefined)
    }
    expect(await names()).toEqual(keys(kept))
    for (const name of kept) {
      expect(await content(name)).toEqual(name)
      expect((await driver().stat(at(name)))?.name).toEqual(name)
    }
  }

  describe('names', () => {
    test('awkward ones come back byte for byte, or are refused', async () => {
      await roundTrip(awkwardNames)
    })

    test('those that people have are not refused', async () => {
      const { at } = await folder()
      const common = [
        'with space',
        'ünïcödé',
        'é',
        'e\u0301',
        '中文',
        '🙂',
        '100%',
        '#1',
        'a+b',
        '"x"',
        "o'neil",
        '(1)',
        'a&b',
      ]
      for (const name of [...common, 'x'.repeat(250), 'new\nline'])
        expect(isRefused(at(name)), name).toBe(name === refusedName())
    })

    test('folders with awkward names hold their files', async () => {
      const { at, names, content } = await folder()
      const kept = awkwardNames.filter((name) => !isRefused(at(name, 'file')))
      for (const name of kept) {
        await driver().makeFolder(at(name), {})
        await driver().put(at(name, 'file'), name, {})
      }
      expect(await names()).toEqual(keys(kept))
      for (const name of kept) {
        expect(await names(name)).toEqual(['file'])
        expect(await content(name, 'file')).toEqual(name)
      }
    })

    test('refused ones are refused for folders and uploads too', async () => {
      const { at, entries } = await folder()
      for (const name of awkwardNames.filter((name) => isRefused(at(name)))) {
        expect(await failureOf(driver().makeFolder(at(name), {}))).toBe('name')
        expect(
          await failureOf(driver().beginUpload(at(name), { sizeBytes: 1, tag: 'test-tag', attributes: {} })),
        ).toBe('name')
        expect(await driver().stat(at(name))).toBeUndefined()
      }
      expect(await entries()).toEqual([])
    })

    test('random ones', async () => {
      const batch = fc.uniqueArray(fc.oneof(anyName, anyText), {
        minLength: 1,
        maxLength: 12,
        selector: (name) => name.toString('latin1'),
      })
      await fc.assert(fc.asyncProperty(batch, roundTrip), { numRuns: 40 })
    })
  })
}
