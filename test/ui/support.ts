import { AxeBuilder } from '@axe-core/playwright'
import type { BrowserContext, Page } from 'playwright-core'
import { expect } from 'vitest'
import { uiPath } from '../../subjects/kit/names.ts'
import { buildUi } from '../../ui/build/build.ts'
import { addLocal, createFolder } from '../support/migrations.ts'
import { startTestPlatform, type TestPlatform } from '../support/platform.ts'

export const startWithUi = async (options: { home?: string } = {}): Promise<TestPlatform> =>
  startTestPlatform({ ...options, uiFolder: await buildUi(() => undefined) })

/** Two folders of the test's own, gone with the scope: the source `here` and the target `there`. */
export async function addStores(
  platform: TestPlatform,
): Promise<ReturnType<typeof createFolder<'from' | 'to'>>> {
  const folder = createFolder('from', 'to')
  await addLocal(platform, 'here', 'source', folder.from)
  await addLocal(platform, 'there', 'target', folder.to)
  return folder
}

/** Signs somebody in who the development provider knows, and waits for the first page. */
export async function signIn(page: Page, platform: TestPlatform, name: string): Promise<void> {
  // Beside much other work the development provider may answer too late: whoever signs in tries again.
  do await page.goto(`${platform.httpUrls.platform}/login`)
  while ((await page.locator('#name').count()) === 0)
  await page.fill('#name', name)
  await page.fill('#password', platform.developmentPasswords![name]!)
  await page.click('button')
  await page.waitForURL(`${platform.httpUrls.platform}${uiPath}`)
  await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor()
}

/** A page of the context, and what the browser complains of in it: scripts that failed, and what the policy refused. */
export async function openPage(context: BrowserContext): Promise<{ page: Page; complaints: string[] }> {
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(error.message))
  return { page, complaints }
}

export const addressOf = (platform: TestPlatform, path: string): string =>
  `${platform.httpUrls.platform}${uiPath}${path}`

/** Goes to a page of ours as a link does, and waits until it has what it asks for. */
export async function visit(page: Page, platform: TestPlatform, path: string, title: string): Promise<void> {
  await page.evaluate(`history.pushState({}, '', ${JSON.stringify(addressOf(platform, path))})`)
  await page.getByRole('heading', { level: 1, name: title, exact: true, includeHidden: true }).waitFor()
  await page.locator('main[aria-busy=false]').waitFor()
}

/** What axe finds wrong with the page, a line for each rule. @param rules only these */
export async function violationsOf(page: Page, rules?: string[]): Promise<string[]> {
  // Of what is in frames of no origin it is told nothing; without it a page more is opened for each look.
  const axe = new AxeBuilder({ page }).setLegacyMode()
  const { violations } = await (rules === undefined ? axe : axe.withRules(rules)).analyze()
  return violations.map(
    ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 200)).join(' | ')}`,
  )
}

/** Chooses an option of a list that opens. */
export async function choose(page: Page, label: string, option: string): Promise<void> {
  await page.getByRole('combobox', { name: label }).click()
  await page.getByRole('option', { name: option, exact: true }).click()
}

export const expectNone = (found: readonly string[]) => expect(found).toEqual([])
