import { existsSync } from 'node:fs'
import { type BrowserContext, chromium } from 'playwright-core'
import { testUnless } from './unless.ts'

/** Debian's, or that of whoever runs the tests. */
const executablePath = process.env['CHROMIUM'] ?? '/usr/bin/chromium'

const noBrowser = existsSync(executablePath) ? undefined : `there is no ${executablePath}; set CHROMIUM`

/** A test in a real browser. */
export const chromiumTest = (name: string, work: () => Promise<void>, timeoutMs?: number): void =>
  testUnless(noBrowser, `${name}, in Chromium`, work, timeoutMs)

/** A real browser with a profile of its own, gone with the scope. @param more arguments of its command line */
export async function openChromium(
  more: readonly string[] = [],
): Promise<AsyncDisposable & { readonly context: BrowserContext }> {
  const browser = await chromium.launch({
    executablePath,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      ...more,
    ],
  })
  return { context: await browser.newContext(), [Symbol.asyncDispose]: () => browser.close() }
}
