import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { chromiumTest, openChromium } from '../support/chromium.ts'
import { addLocal, createFolder } from '../support/migrations.ts'
import { expectNone, openPage, signIn, startWithUi, visit } from './support.ts'

chromiumTest('somebody signs in, sees a migration that is there, and one that comes', async () => {
  using folder = createFolder('from', 'to')
  for (const name of ['a', 'b']) mkdirSync(join(folder.from, name))
  await using platform = await startWithUi()
  await addLocal(platform, 'here', 'source', folder.from)
  await addLocal(platform, 'there', 'target', folder.to)
  const create = (migrationId: string, path: string) =>
    platform.call(migrations.create, { migrationId, path, source: 'here', target: 'there' })
  await create('first', '/a')
  await using browser = await openChromium()
  const { page, complaints } = await openPage(browser.context)
  await signIn(page, platform, 'administrator')
  await visit(page, platform, '/migrations', 'Migrations')
  await page.getByRole('link', { name: 'first', exact: true }).waitFor()
  await create('second', '/b')
  await page.getByRole('link', { name: 'second', exact: true }).waitFor()
  expectNone(complaints)
})
