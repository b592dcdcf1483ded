import { expect } from 'vitest'
import { extensions } from '../../subjects/extensions/extensions.ts'
import { httpServers } from '../../subjects/kit/names.ts'
import { chromiumTest, openChromium } from '../support/chromium.ts'
import { startTestPlatform } from '../support/platform.ts'
import { until } from '../support/until.ts'
import { openPage } from './support.ts'

/** The page has a document of a megabyte to read: seconds where nothing else runs. These end what hangs. */
const patienceMs = 120_000
const timeoutMs = 400_000

chromiumTest(
  'the reference finds operations, is linked to, and keeps a token for its tab',
  async () => {
    await using platform = await startTestPlatform()
    // Once more says that it lives.
    const register = () =>
      platform.call(extensions.register, {
        prefix: 'weather',
        instance: 'one',
        name: 'Weather',
        version: '1.0.0',
        endpoints: [{ name: 'forecast', summary: 'What the weather will be' }],
      })
    await using browser = await openChromium()
    const { page, complaints } = await openPage(browser.context)
    browser.context.setDefaultTimeout(patienceMs)
    const address = `${platform.httpUrls.platform}${httpServers.platform.docsPath}`
    const shown = () => page.locator('.opblock').count()
    const operation = (path: string) => page.locator('.opblock-summary-path', { hasText: path })

    await page.goto(`${address}#/keys/keys.rotate`)
    await page.locator('.opblock.is-open .opblock-summary-path', { hasText: '/rotate' }).waitFor()

    await page.fill('.operation-filter-input', 'new token')
    await until('one is left', async () => (await shown()) === 1)
    await page.fill('.operation-filter-input', 'GET bandwidth')
    await operation('/bandwidth').first().waitFor()
    await page.fill('.operation-filter-input', 'forecast')
    await until('none is left', async () => (await shown()) === 0)

    await page.locator('.btn.authorize').first().click()
    await page.fill('.auth-container input', platform.operatorToken)
    await register()
    await page.locator('.auth-btn-wrapper .authorize').first().click()
    await page.locator('.auth-btn-wrapper .btn-done').first().click()
    // What an extension adds is there for whoever sees it.
    await operation('/extensions/weather/forecast').waitFor()

    await register()
    await page.reload()
    await page.fill('.operation-filter-input', 'forecast')
    await operation('/extensions/weather/forecast').waitFor()
    await page.locator('.btn.authorize.locked').waitFor()
    expect(await page.evaluate('localStorage.length')).toBe(0)

    // Another tab knows nothing of it.
    const { page: other } = await openPage(browser.context)
    await other.goto(address)
    await other.locator('.btn.authorize.unlocked').waitFor()
    expect(complaints).toEqual([])
  },
  timeoutMs,
)
