import { chmodSync, chownSync, lstatSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import type { Driver, SourceFile } from '../../../services/drivers/contract/driver.ts'
import { LocalDriver } from '../../../services/drivers/local/local.ts'
import { Children } from '../../../services/engine/items/children.ts'
import type { ItemResult } from '../../../services/engine/run/counts.ts'
import { finishFolders } from '../../../services/engine/scan/finish-folders.ts'
import { decodeItem } from '../../../services/engine/items/item-decode.ts'
import { type Folders, localBounds, type Transfer } from '../../../services/engine/items/items.ts'
import { beginLarge } from '../../../services/engine/copy/large.ts'
import { transfer } from '../../../services/engine/copy/transfer.ts'
import { createFolder } from '../../support/migrations.ts'
import { isRoot, ordinaryUser } from '../../support/ordinary-user.ts'
import { testUnless } from '../../support/unless.ts'
import { liveSpec } from './local-spec.ts'
import { RemoteFolder } from './remote-folder.ts'
import { createRun } from './runs.ts'

/** Works as somebody whom modes deny something, which threads of this process would not. */
async function asOrdinaryUser<T>(work: () => Promise<T>): Promise<T> {
  if (!isRoot) return work()
  process.seteuid?.(ordinaryUser)
  try {
    return await work()
  } finally {
    process.seteuid?.(0)
  }
}

/** For items that make none. */
const noChildren = () => new Children(() => Promise.reject(new Error('there are children')), localBounds)

/** A live migration from a folder with these files, all of it that user's. */
function createMove(paths: readonly string[]) {
  const folder = createFolder('from', 'to')
  const { root, from, to } = folder
  chmodSync(root, 0o755)
  const folders = new Set([from, to])
  for (const path of paths) {
    const at = join(from, path)
    mkdirSync(dirname(at), { recursive: true })
    writeFileSync(at, 'content')
    if (isRoot) chownSync(at, ordinaryUser, ordinaryUser)
    for (let above = dirname(at); above !== from; above = dirname(above)) folders.add(above)
  }
  for (const at of folders) {
    mkdirSync(join(to, at.slice(from.length)), { recursive: true })
    if (isRoot)
      for (const one of [at, join(to, at.slice(from.length))]) chownSync(one, ordinaryUser, ordinaryUser)
  }
  return {
    from: (path: string) => join(from, path),
    to: (path: string) => join(to, path),
    transfer: (item: Transfer, source: Driver, target: Driver): Promise<ItemResult> =>
      asOrdinaryUser(() => transfer(runOf(source, target), item)),
    finish: (item: Folders, source: Driver, target: Driver): Promise<ItemResult> =>
      asOrdinaryUser(() => finishFolders(runOf(source, target), item, noChildren())),
    begin: (path: string) =>
      asOrdinaryUser(() =>
        beginLarge(runOf(local(from), local(to)), {
          kind: 'large',
          attempt: 1,
          notBeforeMs: 0,
          path: Buffer.from(path),
        }),
      ),
    [Symbol.dispose]: folder[Symbol.dispose],
  }

  function runOf(source: Driver, target: Driver) {
    const spec = { ...liveSpec(folder), root: Buffer.alloc(0), mappings: [] }
    return createRun(source, target, { spec })
  }
}

const local = (fsRoot: string) => new LocalDriver({ fsRoot })
const remote = (fsRoot: string) => new RemoteFolder(fsRoot)

/** An item of these files. */
function itemOf(paths: readonly string[]): Transfer {
  const groups = [...Map.groupBy(paths, (path) => dirname(path))].map(([folder, members]) => ({
    folder: Buffer.from(folder),
    files: members.map((path) => Buffer.from(path.slice(folder.length + 1))),
    others: [],
  }))
  return { kind: 'transfer', attempt: 1, notBeforeMs: 0, groups }
}

const denied = ['denied/one', 'denied/two', 'denied/below/file']
const paths = [...denied, 'open/file']

test.each([
  ['copied at once', local],
  ['copied through the drivers', remote],
])('a file that may not be read is a failure that says what to allow: %s', async (_how, to) => {
  using move = createMove(['folder/file'])
  chmodSync(move.from('folder/file'), 0o000)
  const { failures } = await move.transfer(itemOf(['folder/file']), local(move.from('')), to(move.to('')))
  expect(failures.map(({ message }) => message)).toEqual([
    'source: permission denied: allow the user that runs Gantry to read it and to enter its folder (EACCES in open)',
  ])
})

test.for<[string, number, (to: string) => Driver]>([
  ['no longer listed', 0o000, local],
  ['only listed', 0o644, local],
  ['only listed, and copied through the drivers', 0o644, remote],
])(
  'files of a folder that denies them by now are failures, and all others arrive: %s',
  async ([, mode, to]) => {
    using move = createMove(paths)
    chmodSync(move.from('denied'), mode)
    const { failures, counts, retry } = await move.transfer(
      itemOf(paths),
      local(move.from('')),
      to(move.to('')),
    )
    expect(failures.map(({ path, failure }) => [path, failure])).toEqual(
      denied.map((path) => [`/${path}`, 'permission']),
    )
    for (const { message } of failures) expect(message).toMatch(/^source: .*EACCES/)
    expect(counts).toMatchObject({ filesMigrated: 1, filesVanished: 0 })
    expect(retry).toBeUndefined()
    expect(readdirSync(move.to('open'))).toEqual(['file'])
  },
)

test('a large file in such a folder fails for that reason', async () => {
  using move = createMove(denied)
  chmodSync(move.from('denied'), 0o000)
  await expect(move.begin('denied/below/file')).rejects.toMatchObject({ failure: 'permission' })
})

/** A folder one of whose folders denies its files as soon as one of them was opened. */
class ClosingFolder extends LocalDriver {
  readonly #folder: string

  constructor(fsRoot: string, folder: string) {
    super({ fsRoot })
    this.#folder = folder
  }

  override async open(...args: Parameters<LocalDriver['open']>): Promise<SourceFile> {
    const file = await super.open(...args)
    chmodSync(this.#folder, 0o000)
    return file
  }
}

test('what was copied and cannot be looked at any more has arrived, and is looked at again', async () => {
  using move = createMove(paths)
  const source = new ClosingFolder(move.from(''), move.from('denied'))
  const { failures, counts, again } = await move.transfer(itemOf(['denied/one']), source, remote(move.to('')))
  expect(failures).toEqual([])
  expect(counts).toMatchObject({ filesMigrated: 1 })
  expect(again).toHaveLength(1)
})

test('a folder whose attributes cannot be looked at any more is looked at again, whoever is to give them', async () => {
  using move = createMove(denied)
  chmodSync(move.from('denied'), 0o000)
  const [source, target] = [local(move.from('')), local(move.to(''))]
  const [parent, names] = [Buffer.from('denied'), [Buffer.from('below')]]
  const copied: Transfer = {
    ...itemOf([]),
    groups: [{ folder: Buffer.from('denied/below'), files: [], others: [] }],
  }
  for (const { again, counts, failures } of [
    await move.finish({ ...copied, kind: 'folders', groups: [{ parent, names }] }, source, target),
    await move.transfer(copied, source, target),
  ]) {
    expect(again?.map((item) => decodeItem(item))).toMatchObject([{ groups: [{ folder: parent, names }] }])
    expect([counts.timesNotKept, failures]).toEqual([0, []])
  }
})

const notRoot = isRoot ? undefined : 'only root can make a folder of another user'

testUnless(
  notRoot,
  'what the target lets nobody write and has already is no failure, and gets its attributes',
  async () => {
    using move = createMove(['shut/same', 'shut/other', 'shut/empty'])
    for (const [name, content] of [
      ['same', 'content'],
      ['other', 'contend'],
      ['empty', ''],
    ] as const) {
      writeFileSync(move.to(`shut/${name}`), content, { mode: 0o600 })
      chownSync(move.to(`shut/${name}`), ordinaryUser, ordinaryUser)
    }
    writeFileSync(move.from('shut/empty'), '')
    chownSync(move.to('shut'), 0, 0)
    const item = itemOf(['shut/same', 'shut/other', 'shut/empty'])
    const { failures, counts } = await move.transfer(item, local(move.from('')), local(move.to('')))
    expect(failures).toMatchObject([
      { path: '/shut/other', failure: 'permission', message: expect.stringMatching(/^target: /) },
    ])
    expect(counts).toMatchObject({ filesMigrated: 0, filesSkipped: 2, bytesSkipped: 7 })
    const [from, to] = [lstatSync(move.from('shut/same')), lstatSync(move.to('shut/same'))]
    expect([to.mode, to.mtimeMs]).toEqual([from.mode, expect.closeTo(from.mtimeMs, 2)])
  },
)
