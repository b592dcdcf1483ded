import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryName } from '../../../services/drivers/paths/temporary-names.ts'
import { decodeItem } from '../../../services/engine/items/item-decode.ts'
import { encodeItem } from '../../../services/engine/items/items.ts'
import { compareTrees } from '../../support/compare-trees.ts'
import { makeTree } from '../../support/tree.ts'
import { createMove } from './move-folder.ts'

const never = new AbortController().signal

test('a second run overwrites, and changes nothing that was right', async () => {
  await using move = createMove()
  makeTree(move.from, { seed: 3, files: 500 })
  const first = await move.run()
  const second = await move.run()
  expect(second.failures).toEqual([])
  expect(second.counts).toEqual(first.counts)
  expect(compareTrees(move.from, move.to)).toEqual([])
})

test('files of the same size are skipped by that policy, others are not; what is only at the target stays', async () => {
  await using move = createMove({ policy: 'SkipIfSizeMatch' })
  mkdirSync(move.at('from', 'folder'))
  mkdirSync(move.at('to', 'folder'))
  writeFileSync(move.at('from', 'folder', 'same size'), 'source')
  writeFileSync(move.at('to', 'folder', 'same size'), 'target')
  writeFileSync(move.at('from', 'folder', 'other size'), 'source!')
  writeFileSync(move.at('to', 'folder', 'other size'), 'target')
  writeFileSync(move.at('from', 'folder', 'new'), 'source')
  writeFileSync(move.at('to', 'folder', 'only there'), 'target')
  writeFileSync(move.at('from', 'empty'), '')
  writeFileSync(move.at('to', 'empty'), '')
  const { counts, failures } = await move.run()
  expect(failures).toEqual([])
  expect(counts).toMatchObject({ filesScanned: 4, filesSkipped: 2, bytesSkipped: 6, filesMigrated: 2 })
  const contents = readdirSync(move.at('to', 'folder')).map((name) => [
    name,
    readFileSync(move.at('to', 'folder', name), 'utf8'),
  ])
  expect(Object.fromEntries(contents)).toEqual({
    'same size': 'target',
    'other size': 'source!',
    new: 'source',
    'only there': 'target',
  })
  const again = await move.run()
  expect(again.counts).toMatchObject({ filesMigrated: 0, filesSkipped: 4 })
})

test('a folder that became a file at the target: its files fail at once, the others arrive', async () => {
  await using move = createMove()
  mkdirSync(move.at('from', 'folder'))
  for (const name of ['a', 'b']) writeFileSync(move.at('from', 'folder', name), name)
  writeFileSync(move.at('from', 'c'), 'c')
  const { counts, failures, transfers } = await move.run({
    afterScan: () => {
      rmSync(move.at('to', 'folder'), { recursive: true })
      writeFileSync(move.at('to', 'folder'), 'mine')
    },
  })
  expect(counts).toMatchObject({ filesMigrated: 1, failures: 2 })
  expect(failures.map(({ path, failure, attempts }) => `${path} ${failure} ${attempts}`).toSorted()).toEqual([
    '/folder/a unsupported 1',
    '/folder/b unsupported 1',
  ])
  expect(transfers).toBe(2)
  expect(readFileSync(move.at('to', 'folder'), 'utf8')).toBe('mine')
})

/** What is in a folder: in one item or another, of which each must see to the folder. */
const contents: readonly [string, (folder: string) => void][] = [
  [
    'small files',
    (folder) => {
      for (const name of ['1', '2', 'empty']) writeFileSync(join(folder, name), name === 'empty' ? '' : name)
    },
  ],
  ['a large file', (folder) => writeFileSync(join(folder, 'large'), Buffer.alloc(17 * 2 ** 20, 'large'))],
]

test.each(
  contents.flatMap(([what, write]) => [false, true].map((redelivered) => ({ what, redelivered, write }))),
)(
  'a folder with $what that was removed at the target is made again by the next try (redelivered: $redelivered)',
  async ({ redelivered, write }) => {
    await using move = createMove()
    mkdirSync(move.at('from', 'a', 'b'), { recursive: true })
    write(move.at('from', 'a', 'b'))
    const attempts: number[] = []
    const waits: number[] = []
    const beganMs = Date.now()
    const { failures } = await move.run({
      redelivered,
      afterScan: () => rmSync(move.at('to', 'a'), { recursive: true }),
      beforeTransfer: (bytes) => {
        const item = decodeItem(bytes)
        attempts.push(item.attempt)
        if (item.attempt > 1) waits.push(item.notBeforeMs - beganMs)
      },
    })
    expect(failures).toEqual([])
    expect(attempts).toEqual([1, 2])
    for (const wait of waits) expect(wait).toBeGreaterThanOrEqual(1_000)
    expect(compareTrees(move.from, move.to)).toEqual([])
  },
)

test('an item that comes again sweeps its folders of what a killed worker left, and only of that', async () => {
  await using move = createMove()
  writeFileSync(move.at('from', 'file'), 'bytes')
  const left = `.gantry~${move.spec.id}~`
  const dead = String(temporaryName(move.spec.id)).replace(/\.[0-9a-f]{12}\./, '.000000000000.')
  const live = String(temporaryName(move.spec.id))
  expect(dead.startsWith(left)).toBe(true)
  const item = encodeItem({
    kind: 'transfer',
    attempt: 1,
    notBeforeMs: 0,
    groups: [{ folder: Buffer.alloc(0), files: [Buffer.from('file')], others: [] }],
  })
  for (const name of [dead, live, '.gantry~mine']) writeFileSync(move.at('to', name), 'part')
  await move.mover.transfer(move.spec, item, never)
  expect(readdirSync(move.to).toSorted()).toEqual([live, dead, '.gantry~mine', 'file'].toSorted())
  await move.mover.transfer(move.spec, item, never, true)
  expect(readdirSync(move.to).toSorted()).toEqual([live, '.gantry~mine', 'file'].toSorted())
})

test('a migration that starts from the beginning again sweeps every folder', async () => {
  await using move = createMove()
  mkdirSync(move.at('from', 'folder'))
  await move.run()
  const dead = String(temporaryName(move.spec.id)).replace(/\.[0-9a-f]{12}\./, '.000000000000.')
  writeFileSync(move.at('to', 'folder', dead), 'part')
  await move.run()
  expect(move.leftovers()).toEqual([`folder/${dead}`])
  await move.run({}, { generation: 2 })
  expect(move.leftovers()).toEqual([])
})

test('a file of the source that is named like one under construction is not lost', async () => {
  await using move = createMove()
  const name = String(temporaryName('another migration'))
  writeFileSync(move.at('from', name), 'bytes')
  await move.run({ redelivered: true }, { generation: 2 })
  expect(readFileSync(move.at('to', name), 'utf8')).toBe('bytes')
})
