import { createServer } from 'node:http'
import { expect } from 'vitest'
import { chromiumTest, openChromium } from '../support/chromium.ts'
import { listenOnLoopback } from '../support/loopback.ts'
import { startTestPlatform } from '../support/platform.ts'

// What only a real browser decides: which cookies it sends where, and what our policies let it do.
chromiumTest('somebody signs in, works, is safe from another page, and signs out', async () => {
  await using platform = await startTestPlatform()
  const origin = platform.httpUrls.platform
  await using browser = await openChromium()
  const page = await browser.context.newPage()
  const complaints: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error' && !message.text().includes('favicon')) complaints.push(message.text())
  })

  // By the other name of this host: it leads to the one whose cookies count.
  await page.goto(`${origin.replace('127.0.0.1', 'localhost')}/login`)
  expect(await page.textContent('.notice')).toContain('For development only.')
  await page.fill('#name', 'viewer')
  await page.fill('#password', platform.developmentPasswords!['viewer']!)
  await page.click('button')
  await page.waitForURL(`${origin}/`)
  expect(await page.textContent('body')).toContain('Signed in as Development viewer (viewer)')
  expect(await page.evaluate('document.cookie')).toBe('')

  // A page of the platform calls with the cookie alone, and takes the token to the WebSocket.
  await page.goto(`${origin}/docs`)
  const seen = await page.evaluate(`(async () => {
      const me = await (await fetch('/api/v1/userinfo')).json()
      const { token } = await (await fetch('/api/v1/session')).json()
      const change = await fetch('/api/v1/keys', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"name":"x","capabilities":{"pub":{"allow":[]},"sub":{"allow":[]}}}',
      })
      return [me.subject, token.split('.').length, change.status]
    })()`)
  expect(seen).toEqual(['development-viewer', 4, 201])
  expect(complaints).toEqual([])

  // A page of another server of this host is the same site to a browser, so that it sends the cookie along.
  await using evil = await listenOnLoopback(
    createServer((_, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Evil</h1>')
    }),
  )
  const other = await browser.context.newPage()
  await other.goto(`http://127.0.0.1:${evil.port}/`)
  const gained = await other.evaluate(`(async () => {
      const read = await fetch('${origin}/api/v1/session', { credentials: 'include' }).catch(() => 'nothing')
      const sent = { method: 'POST', mode: 'no-cors', credentials: 'include' }
      await fetch('${origin}/logout', { ...sent, body: new URLSearchParams() }).catch(() => undefined)
      return read
    })()`)
  expect(gained).toBe('nothing')
  await other.setContent(`<iframe src="${origin}/"></iframe>`)
  await other.waitForLoadState()
  const framed = other.frames().map((frame) => frame.url())
  expect(framed).not.toContain(`${origin}/`)

  await page.goto(origin)
  expect(await page.textContent('body')).toContain('Signed in as Development viewer')
  await page.click('button')
  // By way of the provider, which ends its session too.
  await page.waitForURL(`${origin}/`)
  await page.waitForSelector('text=You are not signed in.')
  expect(await browser.context.cookies(origin)).toEqual([])
  await page.click('text="Sign in"')
  await page.waitForSelector('#password')
  // As it was to be done by hand where the browser runs no scripts.
  await page.goto(`${new URL(page.url()).origin}/session/end?client_id=gantry-ui`)
  await page.waitForSelector('text=Signed out')
})
