import { describe, expect, test } from 'vitest'
import { failureOf, type Suite } from './driver-store.ts'

export function linksAreKept({ driver, folder }: Suite): void {
  describe('symbolic links', () => {
    test('are kept with every byte of their target, or refused', async () => {
      const { at, entries, put } = await folder()
      if (!driver().capabilities.symlinks) {
        expect(driver().refuses(at('link'), { type: 'symlink', sizeBytes: 0 })).toMatch(/link/)
        return
      }
      await put('file', 'content')
      const targets = ['file', 'nowhere', '../up and over', 'ünï\ncode', Buffer.from([0x66, 0xff, 0x6f])]
      for (const target of targets) {
        await driver().makeLink?.(at('link'), Buffer.from(target))
        expect(await driver().readLink?.(at('link'))).toEqual(Buffer.from(target))
      }
      expect((await driver().stat(at('link')))?.type).toBe('symlink')
      expect((await entries()).map(({ type }) => type).toSorted()).toEqual(['file', 'symlink'])
      await driver().makeLink?.(at('link'), Buffer.from('file'))
      expect(await failureOf(driver().open(at('link')))).toBe('unsupported')
    })
  })
}
