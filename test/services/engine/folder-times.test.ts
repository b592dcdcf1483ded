import { mkdirSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  StoreError,
  type FileAttributes,
  type Losses,
  type StorePath,
} from '../../../services/drivers/contract/driver.ts'
import { LocalDriver } from '../../../services/drivers/local/local.ts'
import { Children } from '../../../services/engine/items/children.ts'
import { decodeItem } from '../../../services/engine/items/item-decode.ts'
import type { Item, Reconcile, Transfer } from '../../../services/engine/items/items.ts'
import { reconcile } from '../../../services/engine/reconcile/reconcile.ts'
import { boundsOf } from '../../../services/engine/run/run.ts'
import { transfer } from '../../../services/engine/copy/transfer.ts'
import { createFolder } from '../../support/migrations.ts'
import { createRun } from './runs.ts'

/** A folder whose attributes cannot be set for so many tries. */
class FailingFolder extends LocalDriver {
  failing: number

  constructor(fsRoot: string, failing: number) {
    super({ fsRoot })
    this.failing = failing
  }

  override async setAttributes(path: StorePath, attributes: FileAttributes): Promise<Losses> {
    if (this.failing-- > 0) throw new StoreError('io', 'the disk hiccups')
    return super.setAttributes(path, attributes)
  }
}

/** A live migration of a folder with a file, and what comes of an item and of all that it makes. */
function createLive(failing: number) {
  const folder = createFolder('from', 'to')
  for (const path of [folder.from, folder.to]) mkdirSync(join(path, 'a'))
  writeFileSync(join(folder.from, 'a/file'), 'content')
  utimesSync(join(folder.from, 'a'), 1_000, 1_000)
  const target = new FailingFolder(folder.to, failing)
  const { spec, ...run } = createRun(new LocalDriver({ fsRoot: folder.from }), target)
  const live = { ...run, spec: { ...spec, live: { startedMs: 0 } } }
  const work = async (first: Item) => {
    const items = [first]
    const all = { timesNotKept: 0, failures: 0, tries: 0 }
    for (let item = items.shift(); item !== undefined; item = items.shift()) {
      all.tries++
      const children = new Children(async ({ regions, transfers }) => {
        items.push(...[...regions, ...transfers].map(decodeItem))
      }, boundsOf(live))
      const { counts, retry } =
        item.kind === 'transfer'
          ? await transfer(live, item)
          : await reconcile(live, item as Reconcile, children)
      if (retry !== undefined) items.push(decodeItem(retry))
      all.timesNotKept += counts.timesNotKept
      all.failures += counts.failures
    }
    return all
  }
  const time = () => statSync(join(folder.to, 'a')).mtimeMs
  return { work, time, [Symbol.dispose]: folder[Symbol.dispose] }
}

const [a, file] = [Buffer.from('a'), Buffer.from('file')]
const head = { attempt: 1, notBeforeMs: 0 } as const
const copying: Transfer = { kind: 'transfer', ...head, groups: [{ folder: a, files: [file], others: [] }] }
const comparing: Reconcile = {
  kind: 'reconcile',
  ...head,
  groups: [{ folder: a, names: [file], trees: [], scope: 'names' }],
}

test.for([
  ['copied', copying],
  ['compared', comparing],
] as const)(
  'a folder whose time cannot be given to it is tried again, and counted only if it lacks it in the end: %s',
  async ([, item]) => {
    using mended = createLive(2)
    expect(await mended.work(item)).toEqual({ timesNotKept: 0, failures: 0, tries: 3 })
    expect(mended.time()).toBe(1_000_000)
    using broken = createLive(Infinity)
    expect(await broken.work(item)).toEqual({ timesNotKept: 1, failures: 0, tries: 5 })
  },
)
