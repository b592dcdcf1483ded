/** The last answer of a chain of redirects. */
export interface Visited {
  readonly url: URL
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** More redirects than any sign-in has. */
const maxRedirects = 12

/** Follows redirects and keeps cookies, as a browser does; all servers that it visits are on one host. */
export class CookieBrowser {
  readonly cookies = new Map<string, string>()
  /** All lines of `Set-Cookie` that it has seen. */
  readonly setCookies: string[] = []

  get cookieHeader(): string {
    return [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  }

  /** Opens a page, or sends a form; a redirect to `until` is not followed. */
  async open(
    address: string | URL,
    { form, headers = {}, until }: { form?: object; headers?: Record<string, string>; until?: string } = {},
  ): Promise<Visited> {
    let url = new URL(address)
    let body = form === undefined ? undefined : new URLSearchParams(Object.entries(form))
    for (let count = 0; count < maxRedirects; count++) {
      const response = await fetch(url, {
        method: body === undefined ? 'GET' : 'POST',
        headers: { ...headers, cookie: this.cookieHeader },
        redirect: 'manual',
        ...(body === undefined ? {} : { body }),
      })
      this.#keep(response.headers.getSetCookie())
      const location = response.headers.get('location')
      const text = await response.text()
      if (location === null) return { url, status: response.status, headers: response.headers, text }
      url = new URL(location, url)
      body = undefined
      if (until !== undefined && url.href.startsWith(until))
        return { url, status: response.status, headers: response.headers, text }
    }
    throw new Error(`too many redirects, the last to ${url.pathname}`)
  }

  #keep(lines: readonly string[]): void {
    for (const line of lines) {
      this.setCookies.push(line)
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (value === '' || /max-age=0/i.test(line)) this.cookies.delete(name)
      else this.cookies.set(name, value)
    }
  }
}

/** Signs in at the page of the development provider, which `address` leads to. */
export async function signInAt(
  browser: CookieBrowser,
  address: string,
  credentials: { name: string; password: string },
  until?: string,
): Promise<Visited> {
  const page = await browser.open(address)
  const [, action] = /action="([^"]+)"/.exec(page.text) ?? []
  if (action === undefined) throw new Error(`no form at ${page.url.pathname}: ${page.status} ${page.text}`)
  return browser.open(new URL(action, page.url), {
    form: credentials,
    ...(until === undefined ? {} : { until }),
  })
}
