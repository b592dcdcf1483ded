import { beforeAll, describe, expect, test } from 'vitest'
import { rawRequest } from '../../support/http.ts'
import { sharedPlatform, type TestPlatform } from '../../support/platform.ts'
import { httpServers, type HttpServerName } from '../../../subjects/kit/names.ts'

let platform: TestPlatform
beforeAll(async () => {
  platform = await sharedPlatform()
})

/** What a path is told that leads nowhere: clients of the migrator take 404 for an object that is gone. */
const nothing = { platform: 404, migrator: 501, metadata: 404 } as const

const get = (server: HttpServerName, path: string) => rawRequest(platform, server, { path })

describe.each(Object.keys(httpServers) as HttpServerName[])('%s', (server) => {
  const { docsPath, title } = httpServers[server]

  test('its page is there without a token, and refers to nothing but this server', async () => {
    const page = await get(server, docsPath)
    expect(page.status).toBe(200)
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8')
    expect(page.text).toContain(`<title>${title} API</title>`)
    expect(page.text).not.toMatch(/(?:https?:)?\/\/[a-z]/i)
    // Inline code would need an exception from the policy.
    expect(page.text).not.toMatch(/<script(?![^>]*src=)|\son\w+=/)
    const references = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path]) => path!)
    expect(references.length).toBeGreaterThanOrEqual(4)
    for (const path of references) {
      expect(path).toMatch(/^\//)
      const asset = await get(server, path)
      expect(asset.status, path).toBe(200)
      expect(asset.text.length).toBeGreaterThan(50)
      expect(asset.headers['x-content-type-options']).toBe('nosniff')
    }
  })

  test('its policy lets nothing come from, or go to, another server', async () => {
    const { headers } = await get(server, docsPath)
    const policy = headers['content-security-policy'] as string
    const directives = new Map(
      policy.split(';').map((directive) => {
        const [name = '', ...sources] = directive.trim().split(' ')
        return [name, sources] as const
      }),
    )
    expect(directives.get('default-src')).toEqual(["'none'"])
    expect(directives.get('script-src')).toEqual(["'self'"])
    expect(directives.get('connect-src')).toEqual(["'self'"])
    expect(directives.get('frame-ancestors')).toEqual(["'none'"])
    for (const sources of directives.values())
      for (const source of sources) expect(["'self'", "'none'", "'unsafe-inline'", 'data:']).toContain(source)
  })

  test('the document that it shows is served, of this server’s routes alone', async () => {
    const { status, body, headers } = await get(server, '/openapi.json')
    expect(status).toBe(200)
    expect(headers['content-type']).toContain('application/json')
    expect(body).toMatchObject({
      openapi: expect.stringMatching(/^3\.1/),
      info: { title: expect.any(String) },
    })
    const paths = Object.keys(body['paths'] as object)
    expect(paths.length).toBeGreaterThanOrEqual(5)
    // Prometheus asks under this path if it is not told another.
    const isOfPlatform = (path: string) => path.startsWith('/api/v1/') || path === '/metrics'
    for (const path of paths) expect(isOfPlatform(path)).toBe(server === 'platform')
    const servers = body['servers'] as { url: string }[] | undefined
    for (const { url } of servers ?? []) expect(url).toBe('/')
  })

  test('the root leads to the page', async () => {
    const { status, headers, text } = await get(server, '/')
    // The platform has a first page, which says who is signed in.
    if (server === 'platform') expect([status, text]).toEqual([200, expect.stringContaining(docsPath)])
    else expect([status, headers['location']]).toEqual([302, docsPath])
  })

  test('the script that starts it asks for our document and no validator', async () => {
    const page = await get(server, docsPath)
    expect(page.text).toContain('data-all="/openapi.json"')
    const { text } = await get(server, '/docs-assets/start.js')
    expect(text).toContain('validatorUrl: null')
  })

  test('nothing else of the folder is served', async () => {
    for (const path of [
      '/docs-assets/package.json',
      '/docs-assets/..%2fpackage.json',
      '/docs-assets/',
      '/docs-assets/../package.json',
    ])
      expect((await get(server, path)).status, path).toBe(nothing[server])
  })
})

test('the platform’s server has the documents for messages and for programs too', async () => {
  expect((await get('platform', '/asyncapi.json')).body).toMatchObject({
    asyncapi: expect.stringMatching(/^3/),
  })
  expect((await get('platform', '/catalogue.json')).status).toBe(200)
  expect((await get('migrator', '/asyncapi.json')).status).toBe(nothing.migrator)
})

test('the pages are at the places of the specification', () => {
  expect(httpServers.platform.docsPath).toBe('/docs')
  expect(httpServers.migrator.docsPath).toBe('/migrator-api.html')
  expect(httpServers.metadata.docsPath).toBe('/docs')
})
