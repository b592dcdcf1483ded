import type { Locator, Page } from 'playwright-core'
import { expect } from 'vitest'
import { keys } from '../../subjects/access/keys.ts'
import { uiPath } from '../../subjects/kit/names.ts'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { chromiumTest, openChromium } from '../support/chromium.ts'
import { until } from '../support/until.ts'
import { addStores, openPage, startWithUi } from './support.ts'

/** More than any page has. */
const mostStops = 150

/** The same where it has the focus. */
const focused = (page: Page, wanted: Locator) => wanted.and(page.locator(':focus'))

/** Goes from one thing to the next until the one of this name has the focus. */
async function tabTo(
  page: Page,
  role: 'button' | 'combobox' | 'textbox' | 'link',
  name: string,
): Promise<void> {
  const wanted = page.getByRole(role, { name, exact: true }).first()
  await wanted.waitFor()
  for (let stop = 0; stop < mostStops; stop++) {
    if ((await focused(page, wanted).count()) > 0) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`the keyboard does not reach ${role} ${name}`)
}

chromiumTest('a keyboard is enough to sign in, create a migration, and revoke a key', async () => {
  await using platform = await startWithUi()
  using _folder = await addStores(platform)
  await using browser = await openChromium()
  const { page } = await openPage(browser.context)
  const press = (key: string) => page.keyboard.press(key)
  const type = (text: string) => page.keyboard.type(text)

  await page.goto(platform.httpUrls.platform)
  await tabTo(page, 'link', 'Sign in')
  await press('Enter')
  await page.locator('#name').waitFor()
  await page.locator('#name').focus()
  await type('administrator')
  await press('Tab')
  await type(platform.developmentPasswords!['administrator']!)
  await press('Enter')
  await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor()

  await press('Control+k')
  await focused(page, page.getByRole('combobox', { name: /^Page/ })).waitFor()
  await type('create a migration')
  await page.getByRole('option', { name: 'Create a migration Action' }).waitFor()
  await press('Enter')
  await page.waitForURL(`**${uiPath}/new-migration`)
  for (const [label, store] of [
    ['Source', 'here'],
    ['Target', 'there'],
  ] as const) {
    const box = page.getByRole('combobox', { name: label, exact: true }).first()
    const option = page.getByRole('option', { name: store })
    // A page that is busy may miss a key; a person sees that nothing is chosen, and does it again.
    await until(`${store} is chosen`, async () => {
      await tabTo(page, 'combobox', label)
      if (!(await option.isVisible())) await press('Enter')
      await option.waitFor()
      await press('ArrowDown')
      await press('Enter')
      return (await box.inputValue()) !== ''
    })
  }
  await tabTo(page, 'textbox', 'Migration name')
  await type('by-keyboard')
  await tabTo(page, 'button', 'Create and plan')
  await press('Enter')
  await page.getByText('This is a preview. No file has been changed.').waitFor()
  await tabTo(page, 'button', 'Start')
  await press('Enter')
  await page.waitForURL(`**${uiPath}/migrations/by-keyboard`)
  expect((await platform.call(migrations.get, { migrationId: 'by-keyboard' })).state).not.toBe('NONSCHEDULED')

  await press('Control+k')
  await focused(page, page.getByRole('combobox', { name: /^Page/ })).waitFor()
  await type('create an api key')
  await page.getByRole('option', { name: 'Create an API key Action' }).waitFor()
  await press('Enter')
  await tabTo(page, 'textbox', 'Name')
  await type('reader')
  await press('Enter')
  await tabTo(page, 'button', 'Done')
  await press('Enter')
  await tabTo(page, 'button', 'Revoke reader')
  await press('Enter')
  await page.getByRole('textbox', { name: 'Type reader to confirm' }).waitFor()
  await focused(page, page.getByRole('textbox', { name: 'Type reader to confirm' })).waitFor()
  await type('reader')
  await press('Enter')
  await page.getByRole('button', { name: 'Revoke reader' }).waitFor({ state: 'detached' })
  const reader = (await platform.call(keys.list, {})).find(({ name }) => name === 'reader')
  expect(reader!.revoked).toBeDefined()
})
