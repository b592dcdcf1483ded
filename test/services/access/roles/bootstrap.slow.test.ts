import { rmSync } from 'node:fs'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { warnOfBootstrap } from '../../../../services/access/roles/bootstrap.ts'
import { platform as contracts } from '../../../../subjects/platform/platform.ts'
import { gantry } from '../../../cli/support.ts'
import { CookieBrowser, signInAt } from '../../../support/cookie-browser.ts'
import { recordingLog } from '../../../support/log.ts'
import { createHome, startTestPlatform, type TestPlatform } from '../../../support/platform.ts'
import { configure } from '../../../support/provider.ts'

let home: string
beforeEach(async () => {
  home = await createHome()
})
afterEach(() => {
  vi.useRealTimers()
  rmSync(home, { recursive: true, force: true })
})

const warnings = ({ lines }: ReturnType<typeof recordingLog>) =>
  lines.filter(({ level, message }) => level === 'warn' && message.includes('bootstrap mode'))

async function rolesOfViewer(platform: TestPlatform): Promise<string> {
  const browser = new CookieBrowser()
  const credentials = { name: 'viewer', password: platform.developmentPasswords!['viewer']! }
  await signInAt(browser, platform.signInUrl!, credentials)
  return (await browser.open(`${platform.httpUrls.platform}/`)).text
}

test('a fresh start is not in bootstrap mode', async () => {
  const logged = recordingLog()
  await using platform = await startTestPlatform({ home, log: logged.log })
  expect(await platform.call(contracts.info, {})).toMatchObject({ bootstrap: false })
  expect(warnings(logged)).toEqual([])
  expect(await rolesOfViewer(platform)).toContain('(viewer)')
})

test('without administrators everybody is one: the log and health say so', async () => {
  await configure(home, { admin_subject: undefined })
  const logged = recordingLog()
  await using platform = await startTestPlatform({ home, log: logged.log })
  expect(await platform.call(contracts.info, {})).toMatchObject({ bootstrap: true })
  expect(warnings(logged)).toHaveLength(1)
  expect(await platform.call(contracts.health, {})).toMatchObject({
    status: 'healthy',
    components: expect.arrayContaining([
      { name: 'administrators', healthy: true, message: expect.stringContaining('bootstrap mode') },
    ]),
  })
  const info = await gantry(['info'], { env: { GANTRY_TOKEN: platform.operatorToken } })
  expect(info).toMatchObject({ code: 0, out: expect.stringContaining('bootstrap mode') })
  expect(await rolesOfViewer(platform)).toContain('(admin)')
})

test.each<[string, object, boolean]>([
  ['it is meant', { 'rbac.bootstrap': true }, true],
  ['there is a group of administrators', { admin_group: 'admins' }, false],
])('no warning when %s', async (_, fields, bootstrap) => {
  await configure(home, { admin_subject: undefined, ...fields })
  const logged = recordingLog()
  await using platform = await startTestPlatform({ home, log: logged.log })
  expect(await platform.call(contracts.info, {})).toMatchObject({ bootstrap })
  expect(warnings(logged)).toEqual([])
  const { components } = await platform.call(contracts.health, {})
  expect(components.map(({ name }) => name)).toEqual([
    'storage',
    'records',
    'audit',
    'state',
    'identity provider',
    'work',
  ])
})

test('the warning comes again every hour, until the end', () => {
  vi.useFakeTimers()
  const logged = recordingLog()
  const rules = {
    adminSubject: undefined,
    adminGroup: undefined,
    bootstrapAcknowledged: false,
    defaultRole: undefined,
  }
  const warning = warnOfBootstrap(rules, logged.log)
  vi.advanceTimersByTime(3 * 3_600_000)
  expect(warnings(logged)).toHaveLength(4)
  warning.stop()
  vi.advanceTimersByTime(3_600_000)
  expect(warnings(logged)).toHaveLength(4)
})
