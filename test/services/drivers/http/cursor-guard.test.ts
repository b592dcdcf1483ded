import { expect, test } from 'vitest'
import { StoreError } from '../../../../services/drivers/contract/store-error.ts'
import { CursorGuard } from '../../../../services/drivers/http/cursor-guard.ts'

const guard = () =>
  new CursorGuard(
    (failure, what, said) => new StoreError(failure, `${what}: ${said}`),
    () => 'list',
  )

/** Pages after which a listing with these cursors is ended. */
function endOf(cursors: (page: number) => string, most: number): number | undefined {
  const its = guard()
  for (let page = 0; page < most; page++) {
    try {
      expect(its.pass(cursors(page))).toBe(cursors(page))
    } catch (error) {
      expect(error).toMatchObject({ failure: 'io', message: expect.stringMatching(/^list: .* never end/) })
      return page
    }
  }
  return undefined
}

test('cursors that go on are passed, however many', () => {
  expect(endOf((page) => `page ${page}`, 100_000)).toBeUndefined()
})

test.each([
  [0, 1],
  [0, 2],
  [0, 7],
  [5, 3],
  [100, 1],
  [1_000, 250],
])('a circle after %d pages, of %d, is noticed', (before, length) => {
  const found = endOf(
    (page) => (page < before ? `first ${page}` : `circle ${(page - before) % length}`),
    100_000,
  )
  expect(found).toBeLessThanOrEqual(3 * (before + length) + 1)
})
