import { expect, test } from 'vitest'
import { LocalDriver } from '../../../services/drivers/local/local.ts'
import { checkStore } from '../../../services/filesystems/check.ts'
import { createFolder } from '../../support/migrations.ts'

test.each([-400, 400])('%d ms that a clock may be off are no difference that is told', async (aheadMs) => {
  using folder = createFolder('from')
  const driver = Object.assign(new LocalDriver({ fsRoot: folder.from }), {
    clockOffset: () => ({ aheadMs, allowedMs: 900_000 }),
  })
  const lines = await checkStore(driver, 'source', new AbortController().signal)
  expect(lines.filter(({ check }) => check === 'clock')).toEqual([{ check: 'clock', result: 'yes' }])
})
