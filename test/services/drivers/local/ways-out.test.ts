import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openDriver } from '../../../../services/drivers/index.ts'
import { createFolder } from '../../../support/migrations.ts'

/** Whatever engine and server say, a folder is not left: of these none is a path of a filesystem. */
const paths = ['..', '../victim', 'a/../../victim', 'a/..', '../victim/kept', 'a//b', 'a/./b', 'a\0b']

test.each(paths)('%j is refused as a name, whatever is to be done there', async (text) => {
  using folder = createFolder('to', 'victim')
  mkdirSync(join(folder.to, 'a'))
  writeFileSync(join(folder.victim, 'kept'), 'precious')
  const driver = await openDriver({ kind: 'local', options: { fsRoot: folder.to } }, 'target')
  const path = Buffer.from(text)
  const { signal } = new AbortController()
  const attempts: (() => unknown)[] = [
    () => driver.put(path, Buffer.from('planted'), {}),
    () => driver.makeFolder(path, { mode: 0o777 }),
    () => driver.setAttributes(path, { mode: 0o777 }),
    () => driver.remove(path),
    () => driver.stat(path),
    () => driver.open(path),
    async () => {
      for await (const _ of driver.list(path, signal)) continue
    },
  ]
  for (const attempt of attempts)
    await expect((async () => attempt())(), String(attempt)).rejects.toMatchObject({ failure: 'name' })
  await driver.close()
  expect(new Set(readdirSync(folder.root, { recursive: true, encoding: 'utf8' }))).toEqual(
    new Set(['to', 'to/a', 'victim', 'victim/kept']),
  )
})
