import { expect } from 'vitest'
import { chromiumTest, openChromium } from '../support/chromium.ts'
import { openPage, signIn, startWithUi } from './support.ts'

/** What a browser loads for the first page, compressed. A slow line takes two seconds for it. */
const maxFirstLoad = 300_000

chromiumTest('the first page loads no more than 300 kB, all from the platform itself', async () => {
  await using platform = await startWithUi()
  await using browser = await openChromium()
  const { page } = await openPage(browser.context)
  await signIn(page, platform, 'administrator')
  // The browser has the files already: another one has none.
  const other = await browser.context
    .browser()!
    .newContext({ storageState: await browser.context.storageState() })
  const first = await other.newPage()
  const loaded: { url: string; bytes: Promise<number> }[] = []
  first.on('requestfinished', (request) => {
    loaded.push({
      url: request.url(),
      bytes: request.sizes().then(({ responseBodySize }) => responseBodySize),
    })
  })
  await first.goto(platform.httpUrls.platform)
  await first.getByRole('heading', { level: 1, name: 'Home' }).waitFor()
  await first.locator('main[aria-busy=false]').waitFor()
  const sizes = await Promise.all(loaded.map(async ({ url, bytes }) => ({ url, bytes: await bytes })))
  const total = sizes.reduce((sum, { bytes }) => sum + bytes, 0)
  expect(total, JSON.stringify(sizes)).toBeLessThan(maxFirstLoad)
  expect(sizes.filter(({ url }) => !url.startsWith(platform.httpUrls.platform))).toEqual([])
})
