import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Locator } from 'playwright-core'
import { expect } from 'vitest'
import { connectWithToken } from '../../broker/rpc/connection.ts'
import { users } from '../../subjects/access/users.ts'
import { keys } from '../../subjects/access/keys.ts'
import { roles } from '../../subjects/access/roles.ts'
import { settings } from '../../subjects/access/settings.ts'
import { uiPath } from '../../subjects/kit/names.ts'
import { exclusions } from '../../subjects/rules/exclusions.ts'
import { inclusions } from '../../subjects/rules/inclusions.ts'
import { metadataCatalogs } from '../../subjects/metadata/catalogs.ts'
import { metadataMigrations } from '../../subjects/metadata/migrations.ts'
import { metadataRules } from '../../subjects/metadata/rules.ts'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { alerts } from '../../subjects/observability/alerts.ts'
import { chromiumTest, openChromium } from '../support/chromium.ts'
import { createFolder } from '../support/migrations.ts'
import { until } from '../support/until.ts'
import {
  addressOf,
  choose,
  expectNone,
  openPage,
  signIn,
  startWithUi,
  violationsOf,
  visit,
} from './support.ts'

chromiumTest('somebody adds two folders, plans, migrates, verifies, makes a key and revokes it', async () => {
  await using platform = await startWithUi()
  const folder = mkdtempSync(join(tmpdir(), 'gantry-ui-'))
  const [from, to] = [join(folder, 'from'), join(folder, 'to')]
  for (const path of [from, to, join(from, 'one'), join(from, 'two')]) mkdirSync(path)
  writeFileSync(join(from, 'one', 'a'), 'content')
  await using browser = await openChromium()
  const { page, complaints } = await openPage(browser.context)
  await signIn(page, platform, 'administrator')

  await page.click('text=Add a source and a target')
  for (const [name, role, root] of [
    ['here', 'source', from],
    ['there', 'target', to],
  ] as const) {
    await page.getByRole('button', { name: 'Add a store' }).click()
    await page.fill('input[name=fileSystemId]', name)
    // What is missing is what somebody wants to add.
    const dialog = page.getByRole('dialog')
    expect(await dialog.getByRole('combobox', { name: 'Role' }).inputValue()).toBe(role)
    // What is left out follows from the defaults, and only what goes with the role is asked.
    const [copiesOnce, follows] = ['New migrations copy once', 'Live migrations follow changes'].map(
      (label) => dialog.getByRole('switch', { name: label }),
    ) as [Locator, Locator]
    const [own, other] = role === 'source' ? [copiesOnce, follows] : [follows, copiesOnce]
    expect(await own.isChecked()).toBe(true)
    expect(await other.count()).toBe(0)
    await dialog.locator('label', { hasText: 'Store name' }).getByText('*').waitFor()
    await dialog.locator('label', { hasText: 'Root folder' }).getByText('*').waitFor()
    // An error goes with what it was about.
    await page.fill('input[name=fsRoot]', 'relative')
    await page.click('text=Check and add')
    // It stands at its field, which has the focus, and nowhere else.
    await dialog.locator('input[name=fsRoot][aria-invalid=true]:focus').waitFor()
    expect(await dialog.getByRole('alert').count()).toBe(0)
    // What fails its check is added only by who wants that.
    await page.fill('input[name=fsRoot]', join(root, 'missing'))
    await page.click('text=Check and add')
    await dialog.getByText('It was not added, because a check failed.').waitFor()
    await dialog.getByRole('button', { name: 'Add anyway' }).waitFor()
    await page.fill('input[name=fsRoot]', root)
    await dialog.getByText('It was not added').waitFor({ state: 'detached' })
    await page.click('text=Check without adding')
    await dialog.getByText('Folders can be listed.').waitFor()
    await page.click('text=Check and add')
    await page.getByRole('link', { name, exact: true }).waitFor()
  }

  await page.getByRole('link', { name: 'Create a migration' }).click()
  // There is nothing else to choose.
  expect(await page.getByRole('combobox', { name: 'Source' }).first().inputValue()).toBe('here')
  expect(await page.getByRole('combobox', { name: 'Target' }).first().inputValue()).toBe('there')
  await page.click('text=Browse the source')
  await page.getByRole('button', { name: 'one/' }).click()
  await page.click('text="Choose /one"')
  expect(await page.getByRole('textbox', { name: 'Path' }).inputValue()).toBe('/one')
  await page.getByRole('textbox', { name: 'Migration name' }).fill('first')
  await page.getByText('Live', { exact: true }).click()
  await page.getByText('follows its source').waitFor()
  await page.getByText('--no-scan-only-migration').waitFor()
  await page.getByText('Recurring', { exact: true }).click()
  await page.getByRole('button', { name: 'Schedule' }).click()
  // What is missing is told at its field, in its step.
  await page.getByRole('button', { name: 'Next' }).click()
  await page.getByText('Enter a period such as 1H, or a schedule.').waitFor()
  // Until then it is not to be created, whatever the step.
  const create = page.getByRole('button', { name: 'Create and plan' })
  for (const step of ['Source and target', 'Options']) {
    await page.getByRole('button', { name: step }).click()
    const only = step === 'Options' ? page.getByText('Priority').first() : page.getByText('Copies everything')
    await only.waitFor()
    expect(await create.count()).toBe(0)
  }
  await page.getByText('Still needed: a period or a schedule').waitFor()
  await page.getByRole('button', { name: 'Schedule' }).click()
  await page.getByRole('textbox', { name: 'Recurring schedule' }).fill('61 * * * *')
  await page.getByText('This is not a complete cron expression yet.').waitFor()
  expect(await page.getByRole('button', { name: 'Next' }).isDisabled()).toBe(true)
  await page.getByRole('textbox', { name: 'Recurring schedule' }).fill('30 2 * * *')
  await page.getByText('Next scans in your time zone: ').waitFor()
  await create.waitFor()
  await page.getByRole('button', { name: 'Source and target' }).click()
  await page.getByText('Once', { exact: true }).click()
  await page.getByRole('button', { name: 'Schedule' }).waitFor({ state: 'detached' })
  // A folder that is not there is told at its field, before anything else is asked.
  await page.getByRole('textbox', { name: 'Path' }).fill('/nowhere')
  await page.click('text=Next')
  await page.getByText('there is no folder /nowhere in here').waitFor()
  await page.getByRole('textbox', { name: 'Path' }).fill('/one')
  await page.click('text=Next')
  // A step is a place in the browser's history, and what was entered outlives a reload.
  await page.getByRole('button', { name: 'Create an exclusion' }).waitFor()
  await page.reload()
  await page.getByRole('button', { name: 'Create an exclusion' }).waitFor()
  await page.goBack()
  await page.getByText('What should the migration do?').waitFor()
  expect(await page.getByRole('textbox', { name: 'Migration name' }).inputValue()).toBe('first')
  await page.click('text=Next')
  // A rule that is missing is made without leaving the steps, and is chosen.
  await page.getByRole('button', { name: 'Create an exclusion' }).click()
  const rule = page.getByRole('dialog')
  await rule.getByRole('textbox', { name: 'ID' }).fill('no-temporary')
  await rule.getByRole('textbox', { name: 'Description' }).fill('temporary files')
  await rule.getByRole('textbox', { name: 'Pattern', exact: true }).fill('*.tmp')
  // It can be tried before it is saved.
  const tried = rule.getByRole('textbox', { name: 'Try the pattern with a path' })
  await tried.fill('/one/a.tmp')
  await rule.getByText('The pattern matches the path').waitFor()
  await tried.fill('/one/a.txt')
  await rule.getByText('The pattern does not match the path').waitFor()
  await rule.getByRole('button', { name: 'Create', exact: true }).click()
  await rule.waitFor({ state: 'detached' })
  await page.locator('#content').getByText('no-temporary', { exact: true }).waitFor()
  await page.click('text=Next')
  await page.getByRole('button', { name: 'Create and plan' }).click()
  await page.getByText('1 file, 7 B').first().waitFor()
  const planned = await platform.call(migrations.get, { migrationId: 'first' })
  expect(planned.state).toBe('NONSCHEDULED')
  expect(planned.userDefinedExclusions.map(({ id }) => id)).toEqual(['no-temporary'])
  await page.reload()
  await page.getByText('1 file, 7 B').first().waitFor()
  await page.getByRole('button', { name: 'Start', exact: true }).click()
  await page.waitForURL(`**${uiPath}/migrations/first`)
  await page.getByText('Complete', { exact: true }).waitFor()
  await page.getByRole('heading', { level: 1 }).locator('..').getByText('completed').waitFor()

  // What to do next is said, until it is done.
  const next = page.getByRole('note').filter({ hasText: 'Next: verify that the target matches the source' })
  await next.getByRole('button', { name: 'Verify' }).waitFor()
  expectNone(await violationsOf(page))

  // Rules of both sorts are made here, too, and are the migration's.
  await page.getByRole('tab', { name: 'Rules' }).click()
  await page.getByRole('button', { name: 'Create an exclusion' }).waitFor()
  await page.getByRole('button', { name: 'Create an inclusion' }).click()
  await rule.getByRole('textbox', { name: 'ID' }).fill('all-files')
  await rule.getByRole('textbox', { name: 'Description' }).fill('everything')
  await rule.getByRole('textbox', { name: 'Pattern', exact: true }).fill('**')
  await rule.getByRole('button', { name: 'Create', exact: true }).click()
  await rule.waitFor({ state: 'detached' })
  await page.getByRole('table', { name: 'Inclusions' }).getByText('all-files').waitFor()
  expect((await platform.call(inclusions.attached, { migrationId: 'first' })).map(({ id }) => id)).toEqual([
    'all-files',
  ])
  await page.getByRole('button', { name: 'Remove all-files' }).click()
  await page.getByText('No inclusions.').waitFor()

  await page.getByRole('tab', { name: 'Overview' }).click()
  await next.getByRole('button', { name: 'Verify' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Verify' }).click()
  await page.getByText('Verification started').waitFor()
  await next.waitFor({ state: 'detached' })
  await page.getByRole('tab', { name: 'Verifications' }).click()
  await page.getByRole('cell', { name: 'complete', exact: true }).waitFor()
  await page.getByRole('dialog').waitFor({ state: 'detached' })

  // A second scan of what was found before doubles the totals, and not what is at the target.
  writeFileSync(join(to, 'one', 'a'), 'else')
  await page.getByRole('button', { name: 'Verify' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Verify' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Show differences' }).click()
  const differences = page.getByRole('dialog').getByRole('table', { name: 'Differences' })
  await differences.getByRole('cell', { name: '/one/a' }).waitFor()
  await differences.getByRole('cell', { name: 'size mismatch' }).waitFor()
  await differences.getByRole('cell', { name: /7 .* 4 / }).waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Download as CSV' }).waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('tab', { name: 'Overview' }).click()
  // Completed is not the same as equal, and is not to look so.
  await page
    .getByRole('heading', { level: 1 })
    .locator('..')
    .getByText('completed with differences')
    .waitFor()
  await page.getByRole('alert').getByText('The last verification found 1 difference').waitFor()
  await platform.call(migrations['add-pending-region'], { migrationId: 'first', path: '/one' })
  await page.getByText('2 files, 14 B').first().waitFor()
  await page.getByText('Complete', { exact: true }).waitFor()
  await page.getByRole('link', { name: 'Show the verifications' }).click()
  await page.getByRole('button', { name: 'Verify' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Verify' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page
    .getByRole('heading', { level: 1 })
    .locator('..')
    .getByText('completed', { exact: true })
    .waitFor()

  // Somebody else makes another; this page hears of it.
  await page.click('nav >> text="Migrations"')
  await page.getByRole('link', { name: 'first' }).waitFor()
  const hostile = '<img src=x onerror=alert(1)>'
  await platform.call(migrations.create, {
    migrationId: hostile,
    path: '/two',
    source: 'here',
    target: 'there',
  })
  await page.getByRole('link', { name: hostile }).waitFor()

  // A name that is taken is told before anything else is asked.
  await page.getByRole('link', { name: 'Create a migration' }).click()
  await page.getByRole('textbox', { name: 'Migration name' }).fill('first')
  await page.getByRole('button', { name: 'Next' }).click()
  await page.getByText('A migration with this name exists already.').waitFor()
  await page.getByRole('textbox', { name: 'Migration name' }).fill('second')
  await page.getByRole('button', { name: 'Next' }).click()
  await page.getByRole('button', { name: 'Create an inclusion' }).waitFor()
  await page.getByRole('navigation', { name: 'Belongs to' }).getByRole('link', { name: 'Migrations' }).click()
  await page.getByRole('link', { name: hostile }).waitFor()

  // Several at once.
  await page.getByRole('checkbox', { name: 'Select all' }).check()
  await page.locator('button[aria-haspopup=menu]').click()
  await page.getByRole('menuitem', { name: 'high' }).click()
  await page.getByText('Priority changed: 2 migrations').waitFor()
  await until('both are more urgent', async () =>
    (await platform.call(migrations.list, {})).every(({ migrationPriority }) => migrationPriority === 'HIGH'),
  )

  // What runs is on Home, be it of metadata.
  for (const [catalogId, fileSystemId] of [
    ['lake', 'here'],
    ['house', 'there'],
  ] as const)
    await platform.call(metadataCatalogs['create-filesystem'], { catalogId, fileSystemId })
  await platform.call(metadataRules.create, { ruleName: 'all', databasePattern: '*', tablePattern: '*' })
  const followed = { migrationName: 'tables', source: 'lake', target: 'house', ruleNames: ['all'] }
  await page.getByRole('link', { name: 'Home' }).click()
  await page.getByRole('heading', { name: 'Health' }).waitFor()
  await platform.call(metadataMigrations.create, { ...followed, autoStart: true })
  await page.getByRole('heading', { name: 'Running metadata migrations' }).waitFor()
  await page.getByRole('link', { name: 'tables', exact: true }).locator('..').getByText('0 tables').waitFor()
  await platform.call(metadataMigrations.stop, { migrationName: 'tables' })
  await page.getByRole('heading', { name: 'Running metadata migrations' }).waitFor({ state: 'detached' })

  await page.click('nav >> text=API keys')
  await page.getByRole('button', { name: 'Create an API key' }).click()
  await page.getByText('Still needed: Name', { exact: true }).waitFor()
  await page.getByRole('textbox', { name: 'Name' }).fill('reader')
  await page.getByRole('radio', { name: 'Choose permissions one by one' }).check()
  await page.getByRole('dialog').getByRole('searchbox', { name: 'Filter' }).fill('migr')
  await page.getByRole('checkbox', { name: 'Read stores' }).waitFor({ state: 'detached' })
  await page.getByRole('checkbox', { name: 'Read migrations', exact: true }).check()
  await page.getByRole('dialog').getByRole('button', { name: 'Create', exact: true }).click()
  const token = await page.getByTestId('token').textContent()
  const connection = await connectWithToken(platform.tcpUrl, token!.trim())
  await page.getByRole('button', { name: 'Done', exact: true }).click()
  await page.getByRole('button', { name: 'Revoke reader' }).click()
  await page.getByRole('textbox', { name: 'Type reader to confirm' }).fill('reader')
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
  await page.getByRole('button', { name: 'Revoke reader' }).waitFor({ state: 'detached' })
  await until('the connection of the key is closed', () => connection.isClosed())
  expectNone(complaints)
  rmSync(folder, { recursive: true })
})

chromiumTest(
  'whoever has no stores yet adds them while creating a migration, and loses nothing',
  async () => {
    await using platform = await startWithUi()
    using folder = createFolder('from', 'to')
    writeFileSync(join(folder.from, 'a'), 'content')
    await using browser = await openChromium()
    const { page, complaints } = await openPage(browser.context)
    await signIn(page, platform, 'administrator')
    await visit(page, platform, '/new-migration', 'Create a migration')
    await page.getByText('There is no source yet.').waitFor()
    await page.getByText('There is no target yet.').waitFor()
    // What is filled in before stays.
    await page.getByText('Live', { exact: true }).click()
    await page.getByRole('textbox', { name: 'Migration name' }).fill('on-the-way')
    await page.setViewportSize({ width: 360, height: 740 })
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      expectNone(await violationsOf(page))
    }
    const dialog = page.getByRole('dialog')
    const add = async (button: string, name: string, role: string, root: string) => {
      // A keyboard is enough.
      await page.getByRole('button', { name: button }).focus()
      await page.keyboard.press('Enter')
      await dialog.getByRole('textbox', { name: 'Store name' }).fill(name)
      const chosen = dialog.getByRole('combobox', { name: 'Role' })
      if ((await chosen.inputValue()) !== role) await choose(page, 'Role', role)
      await dialog.getByRole('textbox', { name: 'Root folder' }).fill(root)
      await page.keyboard.press('Enter')
      await dialog.waitFor({ state: 'detached' })
      await page
        .locator(':focus')
        .and(page.getByRole('button', { name: button }))
        .waitFor()
    }
    const fits = async () =>
      Boolean(
        await page.evaluate('document.documentElement.scrollWidth <= document.documentElement.clientWidth'),
      )
    const isChosen = async (field: string, name: string) =>
      until(
        `${name} is chosen`,
        async () => (await page.getByRole('combobox', { name: field }).first().inputValue()) === name,
      )
    expect(await fits()).toBe(true)
    await add('Add a source', 'here', 'source', folder.from)
    await isChosen('Source', 'here')
    await page.getByText('There is no source yet.').waitFor({ state: 'detached' })
    await page.getByText('Still needed: Target').waitFor()
    await add('Add a target', 'there', 'target', folder.to)
    await isChosen('Target', 'there')
    // One who changes their mind in the dialog has the new store where it belongs.
    await add('Add a source', 'elsewhere', 'target', folder.to)
    await isChosen('Target', 'elsewhere')
    // Nor is anything lost by closing the dialog, or by loading the page again.
    await page.getByRole('button', { name: 'Add a target' }).click()
    await dialog.getByRole('textbox', { name: 'Store name' }).fill('nowhere')
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await page.reload()
    await isChosen('Source', 'here')
    await isChosen('Target', 'elsewhere')
    expect(await page.getByRole('textbox', { name: 'Migration name' }).inputValue()).toBe('on-the-way')
    await page.getByRole('button', { name: 'Create and plan' }).click()
    await page.getByText('This is a preview. No file has been changed.').waitFor()
    expect(await platform.call(migrations.get, { migrationId: 'on-the-way' })).toMatchObject({
      source: 'here',
      target: 'elsewhere',
      scanOnlyMigration: false,
    })
    expectNone(complaints)
  },
)

chromiumTest('whoever may only look is offered nothing else', async () => {
  await using platform = await startWithUi()
  await using browser = await openChromium()
  const { page } = await openPage(browser.context)
  await signIn(page, platform, 'viewer')
  const navigation = page.getByRole('navigation', { name: 'Pages' })
  expect(await navigation.getByText('Administration').count()).toBe(0)
  await visit(page, platform, '/migrations', 'Migrations')
  await page.waitForSelector('text=There are no migrations yet')
  expect(await page.getByRole('link', { name: 'Create a migration' }).count()).toBe(0)
  // Nor are there columns for what they cannot do.
  await visit(page, platform, '/bandwidth', 'Bandwidth')
  await page.getByRole('columnheader', { name: 'Applies to' }).waitFor()
  expect(await page.getByRole('columnheader', { name: 'Actions' }).count()).toBe(0)
  await visit(page, platform, '/stores', 'Stores')
  expect(await page.getByRole('button', { name: 'Add a store' }).count()).toBe(0)
  // Who comes by a link is told what is missing.
  await visit(page, platform, '/new-migration', 'Create a migration')
  await page.getByRole('note').getByText('gantry.services.v1.migrations.create').waitFor()
  expect(await page.getByRole('button', { name: 'Next' }).count()).toBe(0)
  await visit(page, platform, '/stores?add=1', 'Stores')
  await page.getByRole('dialog').getByText('gantry.services.v1.filesystems.create-local').waitFor()
  await page.keyboard.press('Escape')
  await visit(page, platform, '/administration/users', 'Users')
  await page.getByRole('note').getByText('gantry.services.v1.users.list').waitFor()
  // The log says once that it is not for everybody.
  await visit(page, platform, '/administration/audit', 'Audit log')
  await page.getByRole('note').getByText('gantry.services.v1.audit.list').waitFor()
  expect(await page.getByRole('alert').count()).toBe(0)
  // What is not there leads to what is.
  await visit(page, platform, '/migrations/nope', 'nope')
  await page.getByText('Not found').waitFor()
  await page.getByRole('navigation', { name: 'Belongs to' }).getByRole('link', { name: 'Migrations' }).click()
  await page.waitForSelector('text=There are no migrations yet')

  await page.click('text=Sign out')
  await page.waitForSelector('text=You are not signed in')
  // Whoever follows a link comes there once they have signed in.
  await page.goto(addressOf(platform, '/migrations?filter=some'))
  await page.waitForSelector('text=You are not signed in')
  await page.click('text="Sign in"')
  // The development provider has forgotten them as well.
  await page.fill('#name', 'viewer')
  await page.fill('#password', platform.developmentPasswords!['viewer']!)
  await page.click('button')
  await page.waitForURL(`**${uiPath}/migrations?filter=some`)
  await page.getByRole('heading', { level: 1, name: 'Migrations' }).waitFor()
})

chromiumTest('a key can be given no more than its maker has', async () => {
  await using platform = await startWithUi()
  await using browser = await openChromium()
  const { page } = await openPage(browser.context)
  await signIn(page, platform, 'viewer')
  await visit(page, platform, '/account/keys?add=1', 'API keys')
  // First what it is for, of what its maker has: details only for those who want them.
  const purposes = page.getByRole('radiogroup', { name: 'What is the key for?' })
  expect(await purposes.getByRole('radio').count()).toBe(2)
  expect(await page.getByText('Advanced: permissions as subjects').count()).toBe(0)
  await page.getByText('May call: ').waitFor()
  await page.getByRole('radio', { name: 'Choose permissions one by one' }).check()
  await page.getByText('Advanced: permissions as subjects').click()
  await page.getByRole('textbox', { name: 'May call' }).fill('gantry.services.v1.migrations.delete')
  await page.getByText('Exceeds your role permissions: gantry.services.v1.migrations.delete').waitFor()
  expect(await page.getByRole('checkbox', { name: 'Full access to migrations' }).count()).toBe(0)
})

chromiumTest('a page finds the broker again, and says when somebody has ended its session', async () => {
  await using platform = await startWithUi()
  await using browser = await openChromium()
  const { page } = await openPage(browser.context)
  await signIn(page, platform, 'viewer')
  process.kill(platform.brokerPid()!, 'SIGKILL')
  await page.getByText('Not connected').waitFor()
  await page.getByText('Not connected').waitFor({ state: 'detached' })
  await visit(page, platform, '/migrations', 'Migrations')
  await page.getByText('There are no migrations yet').waitFor()
  // The test's own connection may find it later than the page.
  const all = await until('the test is connected again', () =>
    platform.call(users.list, {}).catch(() => undefined),
  )
  const viewer = all.find(({ roles }) => roles.includes('viewer'))
  const sessions = (await platform.call(keys.list, {})).filter(
    ({ owner, kind }) => owner === viewer!.subject && kind === 'session',
  )
  expect(sessions).toHaveLength(1)
  // Somebody else signs in in the same browser, and has the cookie from now on.
  const { page: other } = await openPage(browser.context)
  await browser.context.clearCookies({ name: /^_/ })
  await signIn(other, platform, 'administrator')
  await platform.call(keys.revoke, { id: sessions[0]!.id })
  await page.getByText('Your session has ended').waitFor()
})

chromiumTest('whoever signs out ends the session of the page, and not that of somebody else', async () => {
  await using platform = await startWithUi()
  await using browser = await openChromium()
  const { page } = await openPage(browser.context)
  await signIn(page, platform, 'viewer')
  const { page: other } = await openPage(browser.context)
  await browser.context.clearCookies({ name: /^_/ })
  await signIn(other, platform, 'administrator')
  // Of all keys, that of the page is told apart.
  await visit(other, platform, '/administration/keys', 'All keys')
  await other.getByText('development-viewer').waitFor()
  expect(await other.getByText('This session').count()).toBe(1)
  await other
    .getByRole('row')
    .filter({ hasText: 'development-administrator' })
    .getByText('This session')
    .waitFor()
  await page.click('text=Sign out')
  // The page goes on with the cookie of the other: Home, as it was before.
  const ended = async () =>
    (await platform.call(keys.list, {})).filter(
      ({ kind, revoked }) => kind === 'session' && revoked !== undefined,
    )
  await until('a session has ended', async () => (await ended()).length > 0)
  await page.getByRole('link', { name: 'Audit log' }).waitFor()
  expect((await ended()).map(({ owner }) => owner)).toEqual(['development-viewer'])
  expect((await platform.call(keys.list, {})).filter(({ kind }) => kind === 'session')).toHaveLength(2)
})

chromiumTest('search finds pages, objects and actions with the keyboard', async () => {
  await using platform = await startWithUi()
  await using browser = await openChromium()
  const { page } = await openPage(browser.context)
  await signIn(page, platform, 'administrator')
  await platform.call(exclusions['create-regex'], {
    id: 'no-temporary',
    regex: '.*[.]tmp',
    description: 'temporary files',
  })
  await platform.call(alerts['put-webhook'], { name: 'desk', url: 'https://hooks.example/alerts' })
  await page.keyboard.press('Control+k')
  const search = page.getByRole('combobox', {
    name: 'Page, migration, store, rule, role, extension or action',
  })
  // What is equally good is done rather than looked at.
  await page.getByRole('option').first().getByText('Create a migration').waitFor()
  await search.fill('viewer')
  await page.getByRole('option', { name: 'viewer Role' }).waitFor()
  await search.fill('no-temporary')
  await page.getByRole('option', { name: 'no-temporary Exclusion' }).click()
  await page.getByRole('heading', { level: 1, name: 'no-temporary' }).waitFor()
  await page.keyboard.press('Control+k')
  // Where verifications are, which have no page of their own.
  await search.fill('verif')
  await page.getByRole('option', { name: 'Migrations Page' }).waitFor()
  await search.fill('exclude')
  await page.getByRole('option', { name: 'Rules Page' }).waitFor()
  await search.fill('desk')
  await page.getByRole('option', { name: 'desk Webhook' }).waitFor()
  await search.fill('audit')
  await page.getByRole('option', { name: 'Audit log Page' }).waitFor()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'Audit log' }).waitFor()
  // One goes on from what was found.
  await page.locator('h1:focus', { hasText: 'Audit log' }).waitFor()
  await platform.call(settings.put, { sessionHours: 9 })
  await page.reload()
  await page.getByRole('cell', { name: 'sessionHours=9' }).waitFor()
  // Long details are three lines of a row until somebody wants all of them.
  const read = ['list', 'get', 'stats', 'plan'].map((verb) => `gantry.services.v1.migrations.${verb}`)
  await platform.call(roles.put, {
    name: 'readers',
    description: '',
    pub: { allow: read },
    sub: { allow: [] },
    visible_extensions: [],
  })
  await page.reload()
  const details = page.getByRole('cell').filter({ hasText: 'migrations.plan' })
  const height = async () => (await details.boundingBox())!.height
  await details.getByRole('button', { name: 'more' }).waitFor()
  const clamped = await height()
  await details.getByRole('button', { name: 'more' }).click()
  await details.getByRole('button', { name: 'less' }).waitFor()
  expect(await height()).toBeGreaterThan(clamped)
  // What the column shows finds it, and a link has the filter.
  await page.getByRole('textbox', { name: 'Operation' }).fill('settings.put')
  await page.waitForURL(/filters=.*settings\.put/)
  await page.reload()
  await page.getByRole('cell', { name: 'sessionHours=9' }).waitFor()
  expect(await page.getByRole('textbox', { name: 'Operation' }).inputValue()).toBe('settings.put')
  await page.getByRole('textbox', { name: 'Operation' }).fill('nothing')
  await page.getByText('No record matches the filters.').waitFor()
  await page.getByRole('textbox', { name: 'Operation' }).fill('')
  await page.getByRole('button', { name: 'Verify the audit log' }).click()
  await page.getByText(/^Intact: /).waitFor()
  await page.keyboard.press('Control+k')
  await search.fill('sign out')
  await page.getByRole('option', { name: 'Sign out Action' }).waitFor()
  await page.keyboard.press('Enter')
  await page.getByText('You are not signed in').waitFor()
})
