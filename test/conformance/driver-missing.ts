import { describe, expect, test } from 'vitest'
import { failureOf, listAll, never, type Suite } from './driver-store.ts'

export function missingRootsAreTold({ missing }: Suite): void {
  describe('without its root', () => {
    const file = Buffer.from('file')

    test('a store is gone, whatever is asked of it', async () => {
      const attributes = {}
      for (const asked of [
        () => missing().probe(never),
        () => listAll(missing(), Buffer.alloc(0)),
        () => missing().open(file),
        () => missing().put(file, Buffer.from('x'), attributes),
        () => missing().beginUpload(file, { sizeBytes: 10, tag: 'test-tag', attributes }),
      ])
        expect(await failureOf(asked()), String(asked)).toBe('gone')
      const flushed = missing().flush?.([file], never)
      if (flushed !== undefined) expect(await failureOf(flushed)).toBe('gone')
    })

    test('there is nothing to be removed, or the store says that the root is gone', async () => {
      const removed = await missing()
        .remove(file)
        .catch(async (error: unknown) => failureOf(Promise.reject(error)))
      expect([false, 'gone']).toContain(removed)
    })
  })
}
