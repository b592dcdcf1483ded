import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { Page, StorePath } from '../../../services/drivers/contract/driver.ts'
import { LocalDriver } from '../../../services/drivers/local/local.ts'
import { mayRemoveOwn, removeTree } from '../../../services/engine/tree/remove-tree.ts'
import { createFolder } from '../../support/migrations.ts'
import { RemoteFolder } from './remote-folder.ts'
import { createRun } from './runs.ts'

/** Lists an entry that somebody removes before anything is done with it, and says as little of entries as stores may. */
class WithVanishing extends RemoteFolder {
  override async *list(path: StorePath): AsyncGenerator<Page> {
    for await (const { entries } of super.list(path, new AbortController().signal)) {
      const bare = entries.map(({ name, type, sizeBytes }) => ({ name, type, sizeBytes }))
      const [first] = bare
      yield { entries: first === undefined ? bare : [...bare, { ...first, name: Buffer.from('vanished') }] }
    }
  }
}

test('a folder goes, though somebody removed an entry of it meanwhile', async () => {
  using folder = createFolder('from', 'to')
  const startedMs = Date.now() - 1_000
  mkdirSync(`${folder.to}/old`)
  writeFileSync(`${folder.to}/old/file`, 'content')
  const source = new LocalDriver({ fsRoot: folder.from })
  const target = new WithVanishing(folder.to)
  const { spec, ...run } = createRun(source, target)
  const live = { ...run, spec: { ...spec, live: { startedMs } } }
  const old = Buffer.from('old')
  const entry = await target.stat(old)
  const removal = { side: 'target', mayRemove: mayRemoveOwn(live), removed: () => undefined } as const
  expect(await removeTree(live, removal, { path: old, origin: old }, entry!)).toBe('nothing')
  expect(existsSync(`${folder.to}/old`)).toBe(false)
})
