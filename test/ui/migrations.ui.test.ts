import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { hasEnded } from '../../subjects/migrations/model/jobs.ts'
import { bandwidth } from '../../subjects/migrations/bandwidth.ts'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { verifications } from '../../subjects/migrations/verifications.ts'
import { exclusions } from '../../subjects/rules/exclusions.ts'
import { chromiumTest, openChromium } from '../support/chromium.ts'
import { until } from '../support/until.ts'
import {
  addressOf,
  addStores,
  expectNone,
  openPage,
  signIn,
  startWithUi,
  violationsOf,
  visit,
} from './support.ts'

const migrationId = 'first'

chromiumTest(
  'what cannot be copied is excluded where it is listed; the list says which targets differ; colours and place stay after a sign-out',
  async () => {
    await using platform = await startWithUi()
    using folder = await addStores(platform)
    mkdirSync(join(folder.from, 'sub'))
    for (const name of ['a', 'b', 'c.tmp']) writeFileSync(join(folder.from, 'sub', name), name)
    // Neither is a file.
    for (const name of ['pipe', 'other']) execFileSync('mkfifo', [join(folder.from, name)])
    await platform.call(exclusions['create-regex'], { id: 'temporary', patternType: 'GLOB', regex: '*.tmp' })
    const whole = { migrationId, path: '/', source: 'here', target: 'there', autoStart: true }
    await platform.call(migrations.create, { ...whole, scanOnlyMigration: true, exclusions: ['temporary'] })
    const isCompleted = async () =>
      (await platform.call(migrations.get, { migrationId })).state === 'COMPLETED'
    await until('it is completed', isCompleted)
    rmSync(join(folder.to, 'sub', 'a'))
    const { id: verificationId } = await platform.call(verifications.create, { migrationId })
    await until('it is verified', async () =>
      hasEnded(await platform.call(verifications.get, { verificationId })),
    )

    await using browser = await openChromium()
    const { page, complaints } = await openPage(browser.context)
    await signIn(page, platform, 'administrator')
    await visit(page, platform, '/migrations', 'Migrations')
    await page.getByRole('cell', { name: 'completed with failures' }).waitFor()
    await visit(page, platform, '/migrations/first', 'first')
    await page.getByText('Completed with 2 failures', { exact: true }).waitFor()
    await page.getByText('1 file, 5 B', { exact: true }).waitFor()
    await page.getByRole('tab', { name: 'Failures' }).click()
    for (const path of ['/pipe', '/other'])
      await page.getByRole('row').filter({ hasText: path }).getByRole('checkbox').check()
    await page.getByRole('button', { name: 'Exclude 2 paths' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.locator('input[name=id]').fill('pipes')
    await dialog.getByRole('button', { name: 'Exclude', exact: true }).click()
    await page.getByText('The next scan of their folder removes the paths from the list.').waitFor()
    await page.getByRole('button', { name: 'Run again' }).click()
    await page.getByText('There are no failed paths.').waitFor()
    await until('it is completed again', isCompleted)
    await visit(page, platform, '/migrations', 'Migrations')
    await page.getByRole('cell', { name: 'completed with differences' }).waitFor()

    // On a telephone, boxes say what they are for, and what a page is about is in sight.
    await page.setViewportSize({ width: 360, height: 740 })
    const saidAt = async (selector: string) =>
      page.evaluate<string>(
        `getComputedStyle(document.querySelector(${JSON.stringify(selector)}), '::after').content`,
      )
    expect(await saidAt('.rows th:has(input)')).toBe('"Select all"')
    expect(await saidAt('.rows td:has(input)')).toBe('"Select"')
    await visit(page, platform, '/migrations/first', 'first')
    const tabs = page.getByRole('tablist', { name: 'Parts of the migration' })
    expect((await tabs.boundingBox())!.height).toBeLessThan(60)
    expectNone(await violationsOf(page))
    await page.setViewportSize({ width: 1280, height: 800 })

    // The buttons of a long form are in sight.
    await visit(page, platform, '/stores', 'Stores')
    await page.getByRole('button', { name: 'Add a store' }).click()
    const add = page.getByRole('dialog').getByRole('button', { name: 'Check and add' })
    await add.waitFor()
    await until('the button is in sight', async () => {
      const box = await add.boundingBox()
      return box !== null && box.y + box.height <= 800
    })
    await page.keyboard.press('Escape')

    // A limit that is asked for with a migration holds before it starts.
    await visit(page, platform, '/new-migration', 'Create a migration')
    await page.getByRole('textbox', { name: 'Migration name' }).fill('limited')
    await page.getByRole('textbox', { name: 'Path' }).fill('/sub')
    for (const step of [1, 2]) {
      await page.getByRole('button', { name: 'Next' }).click()
      await page.waitForURL(new RegExp(`step=%22${step + 1}`))
    }
    await page.getByRole('group', { name: 'Bandwidth limit' }).getByLabel('Limit', { exact: true }).fill('5')
    await page.getByRole('button', { name: 'Create and start' }).click()
    await page.getByRole('heading', { level: 1, name: 'limited' }).waitFor()
    expect(await platform.call(bandwidth.get, { scope: 'migration', name: 'limited' })).toMatchObject({
      limitBytesPerSecond: 5 * 2 ** 20,
    })
    expect((await platform.call(migrations.get, { migrationId: 'limited' })).migrationStartTime).toBeDefined()

    await visit(page, platform, '/migrations/first', 'first')
    await page.getByRole('button', { name: 'Switch to dark mode' }).click()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByText('You are not signed in').waitFor()
    expect(await page.evaluate('getComputedStyle(document.documentElement).colorScheme')).toBe('dark')
    await page.getByRole('link', { name: 'Sign in' }).click()
    await page.fill('#name', 'administrator')
    await page.fill('#password', platform.developmentPasswords!['administrator']!)
    await page.click('button')
    await page.waitForURL(addressOf(platform, '/migrations/first'))
    await page.getByRole('heading', { level: 1, name: 'first' }).waitFor()
    expectNone(complaints)
  },
)
