import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { Entry, Page, StorePath } from '../../../services/drivers/contract/driver.ts'
import { LocalDriver } from '../../../services/drivers/local/local.ts'
import { mayRemoveOwn, type Removed, removeTree } from '../../../services/engine/tree/remove-tree.ts'
import { temporaryName } from '../../../services/drivers/paths/temporary-names.ts'
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

/** Knows of nothing when it was made, as HDFS of what a writer was killed over. */
class WithoutCreation extends RemoteFolder {
  override async *list(path: StorePath, signal: AbortSignal): AsyncGenerator<Page> {
    for await (const { entries } of super.list(path, signal)) yield { entries: entries.map(withoutCreation) }
  }

  override async stat(path: StorePath): Promise<Entry | undefined> {
    const entry = await super.stat(path)
    return entry && withoutCreation(entry)
  }
}

const withoutCreation = ({ createdMs: _made, ...entry }: Entry): Entry => entry

test('what a killed writer had under construction goes with its folder; what is of no migration stays', async () => {
  using folder = createFolder('from', 'to')
  const source = new LocalDriver({ fsRoot: folder.from })
  const target = new WithoutCreation(folder.to)
  const { spec, ...run } = createRun(source, target)
  const live = { ...run, spec: { ...spec, live: { startedMs: Date.now() - 1_000 } } }
  const nameFor = (tag: string) => temporaryName(tag).toString('latin1')
  const parts = `${folder.to}/gone/${nameFor(spec.id)}`
  mkdirSync(parts, { recursive: true })
  writeFileSync(`${parts}/part-000000-0`, 'content')
  writeFileSync(`${folder.to}/gone/${nameFor(spec.id)}`, 'content')
  const others = `${folder.to}/gone/${nameFor('other')}`
  writeFileSync(others, 'content')
  const removed: string[] = []
  const removal = {
    side: 'target',
    mayRemove: async (at: Removed, entry: Entry) => at.path.equals(gone) || mayRemoveOwn(live)(at, entry),
    removed: (_: Entry, path: StorePath) => void removed.push(path.toString('latin1')),
  } as const
  const gone = Buffer.from('gone')
  expect(await removeTree(live, removal, { path: gone, origin: gone }, (await target.stat(gone))!)).toBe(
    'kept',
  )
  expect(readdirSync(`${folder.to}/gone`).map((name) => `${folder.to}/gone/${name}`)).toEqual([others])
  expect(removed).toHaveLength(3)
})

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
