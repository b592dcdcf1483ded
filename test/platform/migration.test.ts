import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { filesystems } from '../../subjects/filesystems.ts'
import { migrations } from '../../subjects/migrations.ts'
import { startTestPlatform } from '../support/platform.ts'

test('a folder is migrated to another folder', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'gantry-data-'))
  const [from, to] = [join(dir, 'from'), join(dir, 'to')]
  mkdirSync(join(from, 'a/b'), { recursive: true })
  mkdirSync(to)
  for (let index = 0; index < 1000; index++) writeFileSync(join(from, 'a/b', `file ${index}`), `content ${index}`)
  await using platform = await startTestPlatform()
  await platform.call(filesystems['create-local'], { fileSystemId: 'from', role: 'source', fsRoot: from })
  await platform.call(filesystems['create-local'], { fileSystemId: 'to', role: 'target', fsRoot: to })
  const t = performance.now()
  await platform.call(migrations.create, { migrationId: 'one', path: '/', source: 'from', target: 'to', autoStart: true })
  let state
  do {
    state = await platform.call(migrations.get, { migrationId: 'one' })
  } while (state.state !== 'COMPLETED' && performance.now() - t < 10_000)
  console.log(performance.now() - t, JSON.stringify(state), JSON.stringify(await platform.call(migrations.progress, { migrationId: 'one' })))
  expect(readFileSync(join(to, 'a/b/file 999'), 'utf8')).toBe('content 999')
  rmSync(dir, { recursive: true })
}, 20_000)
