import { appendFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Log } from '../../broker/common/log.ts'
import { createHome, startTestPlatform, type TestPlatform } from './platform.ts'
import { rawRequest } from './http.ts'

/** A platform whose migrator asks for passwords, with these properties. */
export async function startGuarded(
  properties: Readonly<Record<string, string>>,
  { home, log }: { home?: string; log?: Log } = {},
): Promise<TestPlatform> {
  const folder = home ?? (await createHome())
  const lines = Object.entries(properties).map(([key, value]) => `security.${key}=${value}\n`)
  appendFileSync(join(folder, 'migrator/application.properties'), lines.join(''))
  const platform = await startTestPlatform({ home: folder, ...(log === undefined ? {} : { log }) })
  return {
    ...platform,
    [Symbol.asyncDispose]: async () => {
      await platform[Symbol.asyncDispose]()
      if (home === undefined) rmSync(folder, { recursive: true, force: true })
    },
  }
}

export const basicHeader = (userName: string, password: string): string =>
  `Basic ${Buffer.from(`${userName}:${password}`).toString('base64')}`

/** Asks the migrator for its targets, or for something else, as somebody. */
export const askAs = (
  platform: Pick<TestPlatform, 'httpUrls'>,
  authorization: string | undefined,
  { method = 'GET', path = '/fs/targets', body, ...more }: Partial<Parameters<typeof rawRequest>[2]> = {},
) =>
  rawRequest(platform, 'migrator', {
    method,
    path,
    ...more,
    headers: {
      ...(authorization === undefined ? {} : { authorization }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...more.headers,
    },
    ...(body === undefined ? {} : { body }),
  })

/** Asks for a JSON Web Token. */
export const authenticate = (
  platform: Pick<TestPlatform, 'httpUrls'>,
  userName: string,
  password: string,
  more: Partial<Parameters<typeof rawRequest>[2]> = {},
) =>
  askAs(platform, undefined, {
    method: 'POST',
    path: '/authentication/authenticate',
    body: JSON.stringify({ userName, password }),
    ...more,
  })
