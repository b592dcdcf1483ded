import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { LocalDriver } from '../../../services/drivers/local/local.ts'
import { checkStore } from '../../../services/filesystems/check.ts'
import { mountFolding, mountLoop, whyNoFolding, whyNoLoop } from '../../support/mounts.ts'
import { testUnless } from '../../support/unless.ts'

async function written(disk: string) {
  const to = join(disk, 'to')
  mkdirSync(to)
  const driver = new LocalDriver({ fsRoot: to })
  const lines = await checkStore(driver, 'target', new AbortController().signal)
  await driver.close()
  return lines.find(({ check }) => check === 'write')
}

testUnless(whyNoFolding(), 'a target that does not show when a file was copied is told', async () => {
  using disk = mountFolding()
  expect(await written(disk.path)).toMatchObject({
    result: 'yes',
    detail: expect.stringMatching(
      /whole seconds.*copies files with fractional seconds again.*SkipIfDigestMatch/,
    ),
  })
})

testUnless(whyNoLoop(), 'one that keeps whole seconds and shows when a file was written is not', async () => {
  using disk = mountLoop(16 * 1024 * 1024, true)
  expect((await written(disk.path))?.detail ?? '').not.toMatch(/whole seconds/)
})
