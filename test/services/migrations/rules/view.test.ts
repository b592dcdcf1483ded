import { expect, test } from 'vitest'
import { defaultViews, globalViews, restrictionViews } from '../../../../services/migrations/rules/view.ts'

test('a rule that several kinds of one service have is listed once', () => {
  const ids = [...globalViews(), ...defaultViews(), ...restrictionViews()].map(({ id }) => id)
  expect(new Set(ids).size).toBe(ids.length)
  expect(ids).toContain('restriction-adls2-names')
})
