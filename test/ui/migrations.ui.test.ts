import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { hasEnded } from '../../subjects/migrations/model/jobs.ts'
import { bandwidth } from '../../subjects/migrations/bandwidth.ts'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { verifications } from '../../subjects/migrations/verifications.ts'
import { exclusions } from '../../subjects/rules/exclusions.ts'
import { inclusions } from '../../subjects/rules/inclusions.ts'
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
    // What helps is offered, and not what does not.
    await page.getByText('A retry alone does not help: fix the cause, or exclude the paths.').waitFor()
    expect(await page.getByRole('button', { name: 'Retry failed paths' }).count()).toBe(0)
    await page.getByRole('link', { name: 'Show the failures' }).click()
    for (const path of ['/pipe', '/other'])
      await page.getByRole('row').filter({ hasText: path }).getByRole('checkbox').check()
    await page.getByRole('button', { name: 'Exclude 2 paths' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.locator('input[name=id]').fill('pipes')
    await dialog.getByRole('button', { name: 'Exclude', exact: true }).click()
    // No scan comes by itself.
    const said = page.getByText('Excluded. To remove excluded paths from the list, choose “Run again”.')
    await said.waitFor()
    // It covers neither the name and state of the migration nor what can be done with it.
    await dialog.waitFor({ state: 'detached' })
    const bottom = await page.getByRole('tablist', { name: 'Parts of the migration' }).boundingBox()
    expect((await said.boundingBox())!.y).toBeGreaterThan(bottom!.y + bottom!.height)
    await page.getByRole('button', { name: 'Run again' }).click()
    await page.getByText('There are no failed paths.').waitFor()
    await until('it is completed again', isCompleted)
    await visit(page, platform, '/migrations', 'Migrations')
    // Nobody has looked since.
    await page.getByRole('cell', { name: 'completed with differences before the last run' }).waitFor()

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
    // The tab that is open is in sight, and the page where it was.
    await visit(page, platform, '/migrations/first?tab=Events', 'first')
    await until('the tab is in sight', async () => {
      const box = await page.getByRole('tab', { name: 'Events' }).boundingBox()
      return box !== null && box.x >= 0 && box.x + box.width <= 360
    })
    expect(await page.evaluate('document.documentElement.scrollTop')).toBe(0)
    await page.setViewportSize({ width: 1280, height: 800 })
    await visit(page, platform, '/migrations/first', 'first')
    await page.getByText('The last verification, from before the last run, found 3 differences').waitFor()

    // What is excluded, or only at the target, no copy makes equal.
    writeFileSync(join(folder.to, 'sub', 'c.tmp'), 'c.tmp')
    writeFileSync(join(folder.to, 'sub', 'more'), 'more')
    const again = await platform.call(verifications.create, { migrationId })
    await until('it is verified again', async () =>
      hasEnded(await platform.call(verifications.get, { verificationId: again.id })),
    )
    await page
      .getByText('The last verification found 2 differences: 1 only at the target, 1 excluded')
      .waitFor()
    await page.getByRole('link', { name: 'Show the verifications' }).click()
    await page.getByRole('button', { name: 'Show differences' }).first().click()
    await dialog.getByText('at the target: 4 B').waitFor()
    expect(await dialog.getByRole('button', { name: 'Copy again what differs' }).count()).toBe(0)
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })

    // What a change is asked for goes with the mode.
    await page.getByRole('button', { name: 'Change', exact: true }).click()
    await dialog.getByText('Delete at the source when done').first().waitFor()
    await dialog.getByText('“Run again” on a completed migration is the exception').waitFor()
    expect(await dialog.getByText('A period replaces a schedule').count()).toBe(0)
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })

    // A rule in use stays, and says for whom.
    await visit(page, platform, '/rules', 'Rules')
    const remove = page.getByRole('button', { name: 'Delete pipes' })
    await until('it is known that it is in use', async () => remove.isDisabled())
    expect(await remove.getAttribute('title')).toBe(
      'In use by migration first: remove it under Rules of the migration first.',
    )

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

chromiumTest(
  'a plan shows what each rule leaves out, and a rule which paths and migrations are its',
  async () => {
    await using platform = await startWithUi()
    using folder = await addStores(platform)
    for (const name of ['kept', 'old', 'other']) mkdirSync(join(folder.from, name))
    for (const name of ['a', 'b.tmp', 'c.tmp']) writeFileSync(join(folder.from, 'kept', name), name)
    writeFileSync(join(folder.from, 'top'), 'top')
    const glob = { patternType: 'GLOB' } as const
    await platform.call(exclusions['create-regex'], { id: 'temporary', regex: '*.tmp', ...glob })
    await platform.call(exclusions['create-regex'], { id: 'mistyped', regex: '*.tpm', ...glob })
    await platform.call(exclusions['create-paths'], {
      id: 'folders',
      description: 'folders that nobody needs',
      paths: ['/old', '/older'],
    })
    const ids = ['temporary', 'mistyped', 'folders']
    await platform.call(inclusions['create-regex'], { id: 'wanted', regex: '/{kept,old}', ...glob })
    await platform.call(migrations.create, {
      migrationId,
      path: '/',
      source: 'here',
      target: 'there',
      scanOnlyMigration: true,
      exclusions: ids,
      inclusions: ['wanted'],
    })
    await using browser = await openChromium()
    const { page, complaints } = await openPage(browser.context)
    await signIn(page, platform, 'administrator')
    const leftOut = page.getByRole('table', { name: 'Left out by rules' })
    const isShown = async () => {
      await leftOut.getByRole('row', { name: 'temporary glob *.tmp 2 0' }).waitFor()
      await leftOut.getByRole('row', { name: 'folders 2 paths folders that nobody needs 0 1' }).waitFor()
      await leftOut.getByRole('row', { name: 'mistyped leaves out nothing glob *.tpm 0 0' }).waitFor()
      await leftOut.getByRole('row', { name: /^No inclusion matches/ }).waitFor()
      expect(await leftOut.getByText('leaves out nothing').count()).toBe(1)
      // What comes with every migration is told only where it leaves out something.
      expect(await leftOut.getByRole('row').count()).toBe(5)
      await page.getByText('An exclusion that leaves out nothing may be mistyped').waitFor()
    }
    const isAccessible = async () => {
      await page.setViewportSize({ width: 360, height: 740 })
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
        expectNone(await violationsOf(page))
      }
      expect(
        await page.evaluate('document.documentElement.scrollWidth <= document.documentElement.clientWidth'),
      ).toBe(true)
      await page.setViewportSize({ width: 1280, height: 800 })
    }
    // At the last step of creating one, and on its page.
    await visit(page, platform, `/new-migration?plan=${migrationId}`, 'Create a migration')
    await isShown()
    await isAccessible()
    await visit(page, platform, `/migrations/${migrationId}?tab=Plan`, migrationId)
    await isShown()

    // From there to a rule, to a migration that uses it, and back.
    await leftOut.getByRole('link', { name: 'folders' }).click()
    await page.getByRole('heading', { level: 1, name: 'folders' }).waitFor()
    await page.getByText('folders that nobody needs').waitFor()
    const paths = page.getByRole('table', { name: 'Paths' })
    for (const path of ['/old', '/older'])
      await paths.getByRole('cell', { name: path, exact: true }).waitFor()
    await page.getByText('exclusions get folders').waitFor()
    await isAccessible()
    await page.getByRole('table', { name: 'Migrations' }).getByRole('link', { name: migrationId }).click()
    await page.getByRole('heading', { level: 1, name: migrationId }).waitFor()
    await page.getByRole('table', { name: 'Inclusions' }).getByRole('link', { name: 'wanted' }).click()
    await page.getByRole('heading', { level: 1, name: 'wanted' }).waitFor()
    await page.getByText('glob /{kept,old}').waitFor()
    const remove = page.getByRole('button', { name: 'Delete' })
    await until('it is known that it is in use', async () => remove.isDisabled())
    await page.goBack()
    await page.getByRole('button', { name: 'Remove wanted' }).click()
    await page.getByText('No inclusions.').waitFor()
    await page.goForward()
    await page.getByText('No migration uses this rule.').waitFor()
    await remove.click()
    await page.getByRole('textbox', { name: 'Type wanted to confirm' }).fill('wanted')
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('heading', { level: 1, name: 'Rules' }).waitFor()
    await page.getByRole('link', { name: 'mistyped' }).click()
    await page.getByRole('heading', { level: 1, name: 'mistyped' }).waitFor()
    // What comes with the platform has a page, too, and stays.
    await page.getByRole('navigation', { name: 'Belongs to' }).getByRole('link', { name: 'Rules' }).click()
    await page.getByRole('link', { name: 'default-unfinished-files' }).click()
    await page.getByRole('heading', { level: 1, name: 'default-unfinished-files' }).waitFor()
    await page.getByRole('table', { name: 'Migrations' }).getByRole('link', { name: migrationId }).waitFor()
    expect(await page.getByRole('button', { name: 'Delete' }).count()).toBe(0)
    expectNone(complaints)
  },
)
