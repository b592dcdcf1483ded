import { mkdirSync, statfsSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { gantry } from '../cli/support.ts'
import { addLocal, createFolder } from '../support/migrations.ts'
import { startTestPlatform } from '../support/platform.ts'

const tebibyte = 2 ** 40

test('a plan says how much is free at the target, and warns where that is less than is needed', async () => {
  using folder = createFolder('from', 'to')
  await using platform = await startTestPlatform()
  await addLocal(platform, 'from', 'source', folder.from)
  await addLocal(platform, 'to', 'target', folder.to)
  for (const name of ['small', 'large']) {
    mkdirSync(join(folder.from, name))
    writeFileSync(join(folder.from, name, 'file'), 'content')
    // The folder is not at the target yet.
    await platform.call(migrations.create, {
      migrationId: name,
      path: `/${name}`,
      source: 'from',
      target: 'to',
    })
  }
  const { bavail, bsize } = statfsSync(folder.to)
  // A file of holes, which takes no space at the source.
  truncateSync(join(folder.from, 'large/file'), bavail * bsize + tebibyte)

  const small = await platform.call(migrations.plan, { migrationId: 'small' })
  expect(small).toMatchObject({ status: 'COMPLETE', bytesToCopy: 7, targetFreeBytes: expect.any(Number) })
  // Others write to the disk meanwhile.
  expect(small.targetFreeBytes! / (bavail * bsize)).toBeCloseTo(1, 1)
  expect(small.warning).toBeUndefined()
  const large = await platform.call(migrations.plan, { migrationId: 'large' })
  expect(large.warning).toMatch(/^needs [\d.]+ TiB, but \/[^/].*\/to has [\d.]+ [GMT]iB free$/)
  expect(large.warning).toContain(`${folder.to} has`)

  const told = await gantry(['migrations', 'plan', 'large'], { env: { GANTRY_HOME: platform.home } })
  expect(told.out).toMatch(/warning +needs [\d.]+ TiB, but/)
})
