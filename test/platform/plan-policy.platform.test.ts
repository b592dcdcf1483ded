import { utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { addLocal, createFolder } from '../support/migrations.ts'
import { startTestPlatform } from '../support/platform.ts'

test('a plan goes by the policy of its migration, or by another one that is asked for', async () => {
  using folder = createFolder('from', 'to')
  await using platform = await startTestPlatform()
  await addLocal(platform, 'from', 'source', folder.from)
  await addLocal(platform, 'to', 'target', folder.to)
  for (const place of [folder.from, folder.to]) {
    writeFileSync(join(place, 'same'), 'content')
    utimesSync(join(place, 'same'), 1_000, 1_000)
  }
  const migrationId = 'again'
  await platform.call(migrations.create, { migrationId, path: '/', source: 'from', target: 'to' })
  const own = await platform.call(migrations.plan, { migrationId })
  expect(own).toMatchObject({ status: 'COMPLETE', filesToReplace: 1, filesToSkip: 0 })
  const other = await platform.call(migrations.plan, { migrationId, actionPolicy: 'SkipIfSizeAndTimeMatch' })
  expect(other).toMatchObject({ status: 'COMPLETE', filesToReplace: 0, filesToSkip: 1 })
  const { targetActionPolicy } = await platform.call(migrations.get, { migrationId })
  expect(targetActionPolicy).toBe('Overwrite')
})
