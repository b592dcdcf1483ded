import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { chromiumTest, openChromium } from '../support/chromium.ts'
import { bareExtension } from '../support/example-extension.ts'
import { until } from '../support/until.ts'
import { fill, hostileExtension, hostileNames } from './sample.ts'
import { expectNone, openPage, signIn, startWithUi, violationsOf, visit } from './support.ts'

const named = encodeURIComponent(hostileNames.markup)

/** Every page, with the name that it has. */
const pages: readonly (readonly [path: string, title: string])[] = [
  ['/', 'Home'],
  ['/migrations', 'Migrations'],
  ['/new-migration', 'Create a migration'],
  ['/new-migration?from=first', 'Create a migration'],
  ['/migrations/first', 'first'],
  ['/migrations/first?tab=constructor', 'first'],
  ['/migrations/first?tab=Failures', 'first'],
  ['/migrations/first?tab=Transfer', 'first'],
  ['/migrations/first?tab=Plan', 'first'],
  ['/migrations/first?tab=Rules', 'first'],
  ['/migrations/first?tab=Verifications', 'first'],
  ['/migrations/first?tab=Cleanups', 'first'],
  ['/migrations/first?tab=Events', 'first'],
  [`/migrations/${named}?tab=Failures`, hostileNames.markup],
  ['/stores', 'Stores'],
  ['/stores/source/here?path=/one', 'here'],
  [`/stores/target/${named}`, hostileNames.markup],
  ['/rules', 'Rules'],
  [`/rules/exclusions/${named}`, hostileNames.markup],
  ['/rules/inclusions/listed', 'listed'],
  ['/mappings', 'Path mappings'],
  ['/agents', 'Agents'],
  ['/bandwidth', 'Bandwidth'],
  ['/metadata/migrations', 'Metadata migrations'],
  [`/metadata/migrations/${named}`, hostileNames.markup],
  [`/metadata/migrations/${named}?tab=Objects`, hostileNames.markup],
  ['/metadata/catalogs', 'Catalogs'],
  ['/metadata/catalogs/lake', 'lake'],
  ['/metadata/rules', 'Metadata rules'],
  ['/metrics', 'Metrics'],
  ['/notifications', 'Notifications'],
  ['/alerts', 'Alerts'],
  ['/alerts?tab=Rules', 'Alerts'],
  ['/alerts?tab=Webhooks', 'Alerts'],
  ['/logging', 'Log level'],
  ['/extensions', 'Extensions'],
  ['/extensions/weather', hostileNames.markup],
  ['/extensions/weather?tab=Endpoints', hostileNames.markup],
  ['/extensions/weather?tab=Log', hostileNames.markup],
  ['/extensions/weather/pages/home', 'Weather page'],
  ['/extensions/weather/pages/read', 'Weather text'],
  ['/account', 'Profile'],
  ['/account/keys', 'API keys'],
  ['/account/keys?add=1', 'API keys'],
  ['/administration/assignments', 'Assignments'],
  ['/administration/roles', 'Roles'],
  ['/administration/users', 'Users'],
  ['/administration/keys', 'All keys'],
  ['/administration/settings', 'Settings'],
  ['/administration/audit', 'Audit log'],
  ['/administration/health', 'Health and tasks'],
]

/** Texts that turn around what stands beside them: those that are not kept to themselves. */
const turnedTexts = `
  (() => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    const found = []
    while (walker.nextNode())
      if (/[\\u202a-\\u202e]/.test(walker.currentNode.data)) {
        const isIsolated = (element) => /isolate|plaintext/.test(getComputedStyle(element).unicodeBidi)
        let at = walker.currentNode.parentElement
        while (!isIsolated(at) && getComputedStyle(at).display === 'inline') at = at.parentElement
        // A paragraph ends it.
        if (!isIsolated(at) && at.textContent !== walker.currentNode.data) found.push(walker.currentNode.data)
      }
    return found
  })()`

/** Some seconds for each page, where others use the machine too. */
const allPagesMs = 600_000

/** For whoever wants to look at them. */
const screenshots = process.env['GANTRY_UI_SCREENSHOTS']

chromiumTest(
  'every page is accessible, light and dark, fits into 1,280 and 360 pixels, and runs no name',
  async () => {
    const root = mkdtempSync(join(tmpdir(), 'gantry-ui-'))
    await using platform = await startWithUi()
    await fill(platform, root)
    await using extension = await bareExtension(platform, 'weather')
    await using browser = await openChromium()
    const { page, complaints } = await openPage(browser.context)
    page.on('dialog', (dialog) => complaints.push(`a dialog: ${dialog.message()}`))
    await signIn(page, platform, 'administrator')
    if (screenshots !== undefined) mkdirSync(screenshots, { recursive: true })
    const wrong: string[] = []
    for (const [path, title] of pages) {
      // It sends no heartbeats.
      expect((await extension.ask('extensions.register', hostileExtension('weather'))).status).toBe(200)
      await visit(page, platform, path, title)
      for (const scheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' })
        // Colours are all that is different in the dark.
        const rules = scheme === 'dark' ? ['color-contrast'] : undefined
        wrong.push(...(await violationsOf(page, rules)).map((violation) => `${scheme} ${path} ${violation}`))
        if (screenshots !== undefined)
          await page.screenshot({ path: join(screenshots, `${scheme}-${path.replaceAll(/\W+/g, '-')}.png`) })
      }
      wrong.push(
        ...(await page.evaluate<string[]>(turnedTexts)).map((text) => `${path} is turned by ${text}`),
      )
      const wide = await page.evaluate<string[]>(`[...document.querySelectorAll('.rows')]
        .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
        .map((box) => box.ariaLabel)`)
      wrong.push(...wide.map((table) => `${path} has columns out of sight: ${table}`))
      await page.setViewportSize({ width: 360, height: 740 })
      await until(`${path} fits into the window`, async () =>
        Boolean(
          await page.evaluate(
            `[document.documentElement, ...document.querySelectorAll('.rows')].every(
              ({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth) &&
              [...document.querySelectorAll('header button')].every(
                (button) => button.getBoundingClientRect().right <= document.documentElement.clientWidth)`,
          ),
        ),
      )
      if (screenshots !== undefined)
        await page.screenshot({
          path: join(screenshots, `narrow-${path.replaceAll(/\W+/g, '-')}.png`),
          animations: 'disabled',
        })
      await page.setViewportSize({ width: 1280, height: 800 })
    }
    expectNone(wrong)
    // A list that begins in a narrow window, and has no columns to sort by, shows its rows.
    await page.setViewportSize({ width: 360, height: 740 })
    await visit(page, platform, '/administration/audit', 'Audit log')
    await page.locator('tr[data-index="0"]').waitFor()
    await page.setViewportSize({ width: 1280, height: 800 })
    // What a condition names as commands is there as a button and a link.
    await visit(page, platform, '/migrations/first', 'first')
    await page.getByText('Completed with 2 failures', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'Show the failures' }).click()
    await page.getByRole('cell', { name: '/one/pipe' }).waitFor()
    // The frames of the extension's pages run no script; nothing else is complained of.
    const [blocked, others] = [true, false].map((isOfFrame) =>
      complaints.filter((complaint) => complaint.includes("'about:srcdoc'") === isOfFrame),
    ) as [string[], string[]]
    expectNone(others)
    expect(blocked.length).toBeGreaterThan(0)
    expect(await page.title()).not.toBe('taken')
    rmSync(root, { recursive: true })
  },
  allPagesMs,
)
