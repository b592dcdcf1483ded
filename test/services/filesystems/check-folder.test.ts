import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { FileAttributes, StorePath } from '../../../services/drivers/contract/driver.ts'
import { LocalDriver } from '../../../services/drivers/local/local.ts'
import { encodeFolder } from '../../../services/engine/walk/walk-folder.ts'
import { checkStore } from '../../../services/filesystems/check.ts'
import { compareAll, differences } from '../engine/compare-folder.ts'
import { liveSpec } from '../engine/local-spec.ts'
import { createMove } from '../engine/move-folder.ts'
import { changed, reconcile } from '../engine/reconcile-folder.ts'

const { signal } = new AbortController()

/** A target that says which folders were made in it. */
class NotedTarget extends LocalDriver {
  readonly made: string[] = []

  override makeFolder(path: StorePath, attributes: FileAttributes) {
    this.made.push(path.toString())
    return super.makeFolder(path, attributes)
  }
}

test('the folder of a check is no difference, is not deleted by target match or live, and is gone afterwards', async () => {
  await using move = createMove()
  mkdirSync(join(move.from, 'folder'))
  const target = new NotedTarget({ fsRoot: move.to })
  const lines = await checkStore(target, 'target', signal)
  expect(lines.filter(({ result }) => result === 'no')).toEqual([])
  await target.close()
  expect(readdirSync(move.to)).toEqual([])

  const [name = ''] = target.made
  const folder = join(move.to, name)
  mkdirSync(join(folder, 'below'), { recursive: true })
  await move.run()
  expect(differences(await compareAll(move.mover, move.spec, { level: 'size' }))).toEqual([])
  const start = [encodeFolder({ path: Buffer.alloc(0), side: 'both' })]
  await move.mover.match(move.spec, {}, start, async () => undefined, signal)
  await reconcile(move.mover, liveSpec(move), [changed('', { scope: 'tree' })])
  expect(existsSync(join(folder, 'below'))).toBe(true)
})
