import { expect } from 'vitest'
import { assignments } from '../../subjects/access/assignments.ts'
import { keys } from '../../subjects/access/keys.ts'
import { roles } from '../../subjects/access/roles.ts'
import { settings } from '../../subjects/access/settings.ts'
import { bandwidth, unlimited } from '../../subjects/migrations/bandwidth.ts'
import { chromiumTest, openChromium } from '../support/chromium.ts'
import { bareExtension } from '../support/example-extension.ts'
import { until } from '../support/until.ts'
import { addressOf, choose, expectNone, openPage, signIn, startWithUi, visit } from './support.ts'

const noRules = { pub: { allow: [] }, sub: { allow: [] }, visible_extensions: [] }

chromiumTest('an administrator makes a role, assigns it, and changes settings', async () => {
  await using platform = await startWithUi()
  await using browser = await openChromium()
  const { page, complaints } = await openPage(browser.context)
  await signIn(page, platform, 'administrator')
  const dialog = page.getByRole('dialog')

  await platform.call(roles.put, { name: 'passing', description: 'Goes', ...noRules })
  await platform.call(assignments.put, { group: 'leavers', roles: ['passing'] })
  await visit(page, platform, '/administration/roles', 'Roles')
  await page.getByRole('button', { name: 'Create a role' }).click()
  await dialog.getByRole('textbox', { name: 'Name' }).fill('auditors')
  await dialog.getByRole('textbox', { name: 'Description' }).fill('Read the audit log')
  // A role can start with what another one has, or with what a purpose needs.
  await choose(page, 'Start with the permissions for', 'viewer')
  expect(await dialog.getByRole('checkbox', { name: 'Read migrations' }).isChecked()).toBe(true)
  await choose(page, 'Start with the permissions for', 'Operate migrations')
  await dialog.getByRole('checkbox', { name: 'Read alerts' }).check()
  await dialog.getByRole('checkbox', { name: 'Read alerts' }).uncheck()
  await dialog.getByText('Advanced: permissions as subjects').click()
  await dialog.getByRole('textbox', { name: 'May call' }).fill('gantry.services.v1.audit.*')
  expect(await dialog.getByRole('checkbox', { name: 'Subscribe to all events' }).isChecked()).toBe(true)
  await dialog
    .getByRole('textbox', { name: 'May follow' })
    .fill('gantry.events.v1.>\ngantry.extensions.weather.>')
  expect(await dialog.getByRole('textbox', { name: 'Visible extensions' }).inputValue()).toBe('*')
  await dialog.getByRole('textbox', { name: 'Visible extensions' }).fill('weather')
  await dialog.getByRole('button', { name: 'Create', exact: true }).click()
  const auditors = page
    .getByRole('row')
    .filter({ has: page.getByRole('cell', { name: 'auditors', exact: true }) })
  await auditors.getByText('May call: Audit', { exact: true }).click()
  await auditors.getByText('Audit: everything', { exact: true }).waitFor()
  await auditors.getByText('May follow: All events, Extension weather', { exact: true }).waitFor()
  expect((await platform.call(roles.list, {})).find(({ name }) => name === 'auditors')).toEqual({
    name: 'auditors',
    description: 'Read the audit log',
    pub: { allow: ['gantry.services.v1.audit.*'] },
    sub: { allow: ['gantry.events.v1.>', 'gantry.extensions.weather.>'] },
    visible_extensions: ['weather'],
    builtIn: false,
  })
  const viewer = page
    .getByRole('row')
    .filter({ has: page.getByRole('cell', { name: 'viewer', exact: true }) })
  await viewer.getByText(/^May call: read /).waitFor()
  expect(await page.getByRole('button', { name: 'Change viewer' }).isDisabled()).toBe(true)
  expect(await page.getByRole('button', { name: 'Delete viewer' }).isDisabled()).toBe(true)

  await visit(page, platform, '/administration/assignments', 'Assignments')
  // Where administrators come from, which no assignment says.
  await page.getByRole('note').getByText('the user development-administrator (admin_subject)').waitFor()
  expect(await platform.call(assignments.configured, {})).toEqual({
    everybody: false,
    adminSubject: 'development-administrator',
  })
  await page.getByRole('button', { name: 'Assign roles' }).click()
  await dialog.getByRole('textbox', { name: 'Group' }).fill('analysts')
  await choose(page, 'Roles', 'auditors')
  await page.keyboard.press('Escape')
  await dialog.getByRole('button', { name: 'Assign', exact: true }).click()
  await page.getByRole('cell', { name: 'analysts', exact: true }).waitFor()
  expect(await platform.call(assignments.list, {})).toContainEqual({ group: 'analysts', roles: ['auditors'] })

  // Each tab has its own command, and what a new one must have is marked.
  await visit(page, platform, '/alerts?tab=Webhooks', 'Alerts')
  await page.getByText('gantry alerts webhooks', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Add a webhook' }).click()
  await dialog.locator('label', { hasText: 'URL' }).getByText('*').waitFor()
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })

  // The command of each of both pages lists what the page does.
  const shown = (command: string) => page.locator('code').getByText(command, { exact: true })
  await visit(page, platform, '/account/keys?add=1', 'API keys')
  await dialog.getByRole('textbox', { name: 'Name' }).fill('own')
  await dialog.getByRole('button', { name: 'Create', exact: true }).click()
  await page.getByRole('button', { name: 'Done', exact: true }).click()
  await platform.call(keys.create, {
    name: 'of-another',
    capabilities: { pub: noRules.pub, sub: noRules.sub },
  })
  await visit(page, platform, '/administration/keys', 'All keys')
  await shown('gantry keys list').waitFor()
  for (const name of ['own', 'of-another'])
    await page.getByRole('button', { name: `Revoke ${name}` }).waitFor()
  await visit(page, platform, '/account/keys', 'API keys')
  await page.getByRole('button', { name: 'Revoke own' }).waitFor()
  await shown('gantry keys list --own').waitFor()
  expect(await page.getByRole('button', { name: 'Revoke of-another' }).count()).toBe(0)
  await page.getByText('As curl', { exact: true }).click()
  await page.locator('code').getByText('/api/v1/keys?own=true').waitFor()
  await page.getByText('As a command', { exact: true }).click()

  // What went wrong stays at the end of the page until somebody begins something else, or something goes well.
  const fail = async (verb: string, name: string) => {
    await page.getByRole('button', { name: `${verb} ${name}` }).click()
    await dialog.getByRole('textbox', { name: `Type ${name} to confirm` }).fill(name)
    await dialog.getByRole('button', { name: verb, exact: true }).click()
    await page.getByText('The request failed').waitFor()
  }
  await visit(page, platform, '/administration/roles', 'Roles')
  await page.getByRole('cell', { name: 'passing', exact: true }).waitFor()
  await visit(page, platform, '/administration/assignments', 'Assignments')
  await page.getByRole('cell', { name: 'leavers', exact: true }).waitFor()
  await platform.call(assignments.delete, { group: 'leavers' })
  await fail('Remove', 'leavers')
  await page.getByRole('button', { name: 'Assign roles' }).click()
  await page.getByText('The request failed').waitFor({ state: 'detached' })
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  await visit(page, platform, '/administration/roles', 'Roles')
  await page.getByRole('cell', { name: 'passing', exact: true }).waitFor()
  await platform.call(roles.delete, { name: 'passing' })
  await fail('Delete', 'passing')
  await visit(page, platform, '/administration/settings', 'Settings')
  await page.getByRole('textbox', { name: 'Session hours' }).fill('7')
  await page.getByRole('button', { name: 'Save' }).press('Enter')
  await page.getByText('Settings saved').waitFor()
  // Of a form there is one command.
  expect(await page.getByRole('radiogroup', { name: 'Request format' }).count()).toBe(1)
  await page.getByText('The request failed').waitFor({ state: 'detached' })
  expect((await platform.call(settings.get, {})).sessionHours).toBe(7)
  expectNone(complaints)
})

chromiumTest(
  'an endpoint of an extension is called by a form, and a week is painted with the keyboard',
  async () => {
    await using platform = await startWithUi()
    await using extension = await bareExtension(platform, 'weather')
    expect((await extension.register()).status).toBe(200)
    await using browser = await openChromium()
    const { page, complaints } = await openPage(browser.context)
    await signIn(page, platform, 'administrator')

    await visit(page, platform, '/extensions/weather?tab=Endpoints', 'Weather')
    await page.getByRole('textbox', { name: 'City' }).fill('Berlin')
    await page.getByRole('button', { name: 'Call forecast' }).click()
    await page.getByText('"city": "Berlin"').waitFor()
    await page.getByRole('textbox', { name: 'How' }).fill('unknown')
    await page.getByRole('button', { name: 'Call forecast' }).click()
    await page.getByText('there is no such city').waitFor()

    // What an extension writes keeps nobody from the page around it, however long it takes to understand.
    const endless = 'a_'.repeat(60_000)
    const widget = {
      widgets: [{ name: 'today', title: 'Weather today', uri: 'ui://weather/today' }],
      resources: [{ uri: 'ui://weather/today', mediaType: 'text/markdown', content: endless }],
    }
    expect((await extension.register(widget)).status).toBe(200)
    await page.goto(addressOf(platform, ''))
    await page.getByRole('heading', { level: 2, name: 'Weather today' }).waitFor()
    await page.getByText('a_a_a_').waitFor()

    await visit(page, platform, '/bandwidth', 'Bandwidth')
    await page.getByRole('button', { name: 'Set a limit' }).click()
    // The limit for all has no name.
    await page.getByText('Still needed: a limit, or a schedule').waitFor()
    expect(await page.getByRole('textbox', { name: 'Name', exact: true }).count()).toBe(0)
    await page.getByRole('textbox', { name: 'Limit', exact: true }).fill('100')
    await page.getByRole('checkbox', { name: 'Use a different limit at certain times of the week' }).check()
    await page.getByText('Still needed: hours').waitFor()
    expect(await page.getByRole('button', { name: 'Set', exact: true }).isDisabled()).toBe(true)
    // One stop of Tab, and the arrows from there.
    await page.getByRole('button', { name: 'MON 08:00' }).press('Space')
    for (const key of ['ArrowRight', 'Space', 'ArrowDown', 'Space', 'ArrowLeft', 'Space'])
      await page.keyboard.press(key)
    expect(await page.locator('.week button[tabindex="0"]').count()).toBe(1)
    // The pointer paints the rectangle between two corners, and a heading its row or column.
    const hour = (name: string) => page.getByRole('button', { name, exact: true })
    await hour('WED 09:00').hover()
    await page.mouse.down()
    await hour('SAT 19:00').hover()
    await hour('FRI 17:00').hover()
    await page.mouse.up()
    for (const heading of ['All of SUN', '03:00 on all days', 'All of SUN']) await hour(heading).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Set', exact: true }).click()
    const policy = await until('the limit is set', async () =>
      (await platform.call(bandwidth.list, {})).find(
        ({ scope, limitBytesPerSecond }) => scope === 'global' && limitBytesPerSecond !== unlimited,
      ),
    )
    expect(policy.limitBytesPerSecond).toBe(100 * 1024 ** 2)
    const limitBytesPerSecond = 10 * 1024 ** 2
    expect(policy.schedule!.windows).toEqual([
      { days: ['MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'], from: '03:00', to: '04:00', limitBytesPerSecond },
      { days: ['MON', 'TUE'], from: '08:00', to: '10:00', limitBytesPerSecond },
      { days: ['WED', 'THU', 'FRI'], from: '09:00', to: '18:00', limitBytesPerSecond },
    ])
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    // A field that is emptied is no limit any more, and what is not to be scheduled goes too.
    await page.getByRole('button', { name: 'Change All migrations (global)' }).click()
    await page.getByRole('textbox', { name: 'Limit', exact: true }).fill('')
    expect(await page.getByRole('textbox', { name: 'Requests' }).inputValue()).toBe('')
    await page.getByRole('checkbox', { name: 'Use a different limit at certain times of the week' }).uncheck()
    await page.getByRole('dialog').getByRole('button', { name: 'Set', exact: true }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect((await platform.call(bandwidth.list, {})).filter(({ id }) => id === policy.id)).toMatchObject([
      { limitBytesPerSecond: unlimited, limitRequestsPerSecond: unlimited },
    ])
    expect(await platform.call(bandwidth.get, { scope: 'global' })).not.toHaveProperty('schedule')
    expectNone(complaints)
  },
)
