import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { uiPath } from '../../subjects/kit/names.ts'
import { startTestPlatform } from '../support/platform.ts'

test('the web interface is served with a policy of its own, and nothing beside its files', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-ui-'))
  const uiFolder = join(folder, 'dist')
  mkdirSync(join(uiFolder, 'assets'), { recursive: true })
  writeFileSync(join(folder, 'secret.js'), 'secret')
  writeFileSync(join(uiFolder, 'index.html'), '<!doctype html><title>first page</title>')
  writeFileSync(join(uiFolder, 'assets', 'a-1.js'), 'plain')
  writeFileSync(join(uiFolder, 'assets', 'a-1.js.br'), 'compressed')
  await using platform = await startTestPlatform({ uiFolder })
  const origin = platform.httpUrls.platform
  const get = (path: string, headers: Record<string, string> = { 'accept-encoding': 'identity' }) =>
    fetch(`${origin}${path}`, { headers, redirect: 'manual' })

  for (const path of [uiPath, `${uiPath}/migrations/x`]) {
    const page = await get(path)
    expect(page.status).toBe(200)
    expect(await page.text()).toContain('first page')
    const policy = page.headers.get('content-security-policy')!
    expect(policy).toContain("script-src 'self';")
    expect(policy).toContain(`connect-src 'self' ${platform.websocketUrl};`)
    expect(page.headers.get('cache-control')).toBe('no-store')
  }
  const script = await get(`${uiPath}/assets/a-1.js`)
  expect(await script.text()).toBe('plain')
  expect(script.headers.get('cache-control')).toContain('immutable')
  expect(script.headers.get('content-type')).toContain('javascript')
  const compressed = await get(`${uiPath}/assets/a-1.js`, { 'accept-encoding': 'br' })
  expect(compressed.headers.get('content-encoding')).toBe('br')
  expect((await get(`${uiPath}/assets/b-1.js`)).status).toBe(404)
  expect((await get(`${uiPath}/assets/..%2f..%2fsecret.js`)).status).toBe(404)

  // Nobody is signed in.
  const signedOut = await (await get('/')).text()
  expect(signedOut).toContain('You are not signed in')
  // It is dark where the web interface is.
  expect(signedOut).toContain('color-scheme: light dark')
  const signedIn = await get('/', { cookie: `gantry-session=${platform.operatorToken}` })
  expect([signedIn.status, signedIn.headers.get('location')]).toEqual([302, uiPath])
  rmSync(folder, { recursive: true })
})
