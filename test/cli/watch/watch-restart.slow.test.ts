import { readdirSync, rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import { createHome, startTestPlatform } from '../../support/platform.ts'
import { until } from '../../support/until.ts'
import { begin } from '../support.ts'
import { create, createSource } from './sources.ts'

test('a restart of the platform in the middle is waited for', { timeout: 60_000 }, async () => {
  using home = disposableFolder(await createHome())
  // More than the platform copies before it stops.
  const names = Array.from({ length: 10_000 }, (_, index) => `file ${index}`)
  await using first = await startTestPlatform({ home: home.path })
  using folder = await createSource(first, 'nightly', names, '')
  await create(first, 'nightly', true)
  const watching = begin(['watch', 'nightly'], { env: { GANTRY_HOME: home.path } })
  await until('some files have arrived', () => readdirSync(folder.to).length > 100)
  await first.stop()
  await until('it has seen that', () => watching.written.err !== '')
  await using _ = await startTestPlatform({ home: home.path })
  const { code, out, err } = await watching.ended
  expect(err).toBe('The platform does not respond; retrying for 60 s.\n')
  expect(out).toMatch(/nightly is completed: 10,000 files \(0 B\) copied/)
  expect(code).toBe(0)
})

const disposableFolder = (path: string) => ({
  path,
  [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
})
