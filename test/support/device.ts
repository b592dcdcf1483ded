import type { CookieBrowser, Visited } from './cookie-browser.ts'

/** Enters a code at the pages of the development provider, and signs in there. */
export async function enterCode(
  browser: CookieBrowser,
  { verificationUri, userCode }: { verificationUri: string; userCode: string },
  credentials: { name: string; password: string },
): Promise<Visited> {
  const asked = await browser.open(verificationUri)
  const confirmation = await submit(browser, asked, { user_code: userCode })
  const page = await submit(browser, confirmation, {})
  return submit(browser, page, credentials)
}

/** Sends the form of a page, with what is in its hidden fields. */
export function submit(browser: CookieBrowser, { text, url }: Visited, fields: object): Promise<Visited> {
  const [, action = ''] = /action="([^"]+)"/.exec(text) ?? []
  const hidden = [...text.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)].map(
    ([, name, value]) => [name, value],
  )
  return browser.open(new URL(action, url), { form: { ...Object.fromEntries(hidden), ...fields } })
}
