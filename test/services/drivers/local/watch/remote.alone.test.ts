import type fs from 'node:fs'
import { expect, test, vi } from 'vitest'
import { LocalDriver } from '../../../../../services/drivers/local/local.ts'
import { checkStore } from '../../../../../services/filesystems/check.ts'
import { never } from '../../../../conformance/driver-store.ts'
import { createFolder } from '../../../../support/migrations.ts'

const mounted = vi.hoisted(() => ({ type: 0 }))
vi.mock('node:fs', async (original) => {
  const its = await original<typeof fs>()
  const statfsSync = (path: Buffer) => Object.assign(its.statfsSync(path), { type: mounted.type })
  return { ...its, statfsSync }
})

/** As the system has the numbers: of 32 bits, with a sign. */
test.each([
  ['NFS', 0x6969],
  ['SMB', 0x517b],
  ['SMB', 0xfe534d42 | 0],
  ['CIFS', 0xff534d42 | 0],
  ['FUSE', 0x65735546],
])('changes of a mount of %s (%i) are not told, and why is', async (name, type) => {
  using folder = createFolder('from')
  mounted.type = type
  const driver = new LocalDriver({ fsRoot: folder.from })
  const refusal = `the source is on ${name}, which does not tell of all changes`
  expect(await driver.changes.feed(Buffer.alloc(0))).toEqual({ refusal })
  const lines = await checkStore(driver, 'source', never)
  expect(lines.find(({ check }) => check === 'changes')).toMatchObject({
    result: 'untried',
    detail: `${refusal}: live migrations compare source and target at intervals`,
  })
  await driver.close()
})
