import { expect, test } from 'vitest'
import { StoreError } from '../../../services/drivers/contract/driver.ts'
import type { Changes } from '../../../services/drivers/contract/driver.ts'
import { LocalDriver } from '../../../services/drivers/local/local.ts'
import { checkStore } from '../../../services/filesystems/check.ts'
import { never } from '../../conformance/driver-store.ts'
import { createFolder } from '../../support/migrations.ts'
import { mountFolding, whyNoFolding } from '../../support/mounts.ts'
import { testUnless } from '../../support/unless.ts'

/** The line about changes of a folder whose feed is made so. */
async function lineOf(feed: Changes['feed']) {
  using folder = createFolder('from')
  const driver = Object.assign(new LocalDriver({ fsRoot: folder.from }), { changes: { feed } })
  const lines = await checkStore(driver, 'source', never)
  await driver.close()
  expect(lines.map(({ check }) => check)).toContain('list')
  return lines.find(({ check }) => check === 'changes')
}

test('a feed that is only made to see whether there is one is closed', async () => {
  let closed = 0
  const close = async () => void closed++
  expect(await lineOf(async () => ({ detection: 'snapshots', open: async () => true, close }))).toEqual({
    check: 'changes',
    result: 'yes',
  })
  expect(closed).toBe(1)
})

test('why there is none is told, and no line is lost when the store fails', async () => {
  expect(await lineOf(async () => ({ refusal: 'it is on NFS' }))).toMatchObject({
    result: 'untried',
    detail: 'it is on NFS: live migrations compare source and target at intervals',
  })
  const failing = () => Promise.reject(new StoreError('permission', 'it may not be asked'))
  expect(await lineOf(failing)).toEqual({ check: 'changes', result: 'no', detail: 'it may not be asked' })
})

testUnless(whyNoFolding(), 'a folder on FUSE is compared, and the check says so', async () => {
  using mount = mountFolding()
  const driver = new LocalDriver({ fsRoot: mount.path })
  const lines = await checkStore(driver, 'source', never)
  await driver.close()
  expect(lines.find(({ check }) => check === 'changes')).toEqual({
    check: 'changes',
    result: 'untried',
    detail:
      'the source is on FUSE, which does not tell of all changes: live migrations compare source and target at intervals',
  })
})
