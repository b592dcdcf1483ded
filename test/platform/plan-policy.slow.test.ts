import { utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { exclusions } from '../../subjects/rules/exclusions.ts'
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
  // Rules in place of its own are those that it could have.
  await expect(platform.call(migrations.plan, { migrationId, exclusions: ['none'] })).rejects.toMatchObject({
    code: 'NOT_FOUND',
  })
  // More steps of patterns than one migration can have, though each rule is given several times as one.
  const heavy = Array.from({ length: 40 }, (_, index) => `heavy-${index}`)
  for (const id of heavy)
    await platform.call(exclusions['create-regex'], {
      id,
      description: 'large',
      regex: '.*a.{900}b',
      patternType: 'JAVA_PCRE',
    })
  await expect(
    platform.call(migrations.plan, { migrationId, exclusions: [...heavy, ...heavy] }),
  ).rejects.toMatchObject({ code: 'NOT_ACCEPTED' })
  const many = await platform.call(migrations.plan, { migrationId, exclusions: Array(500).fill(heavy[0]) })
  expect(many).toMatchObject({ status: 'COMPLETE' })
  const { targetActionPolicy } = await platform.call(migrations.get, { migrationId })
  expect(targetActionPolicy).toBe('Overwrite')
})
