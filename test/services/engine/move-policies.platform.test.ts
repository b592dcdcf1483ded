import { createHash } from 'node:crypto'
import { mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { isKnown } from '../../../services/engine/compare/entries.ts'
import { exactMs } from '../../../services/engine/run/run.ts'
import { type ActionPolicy, actionPolicyNames } from '../../../subjects/migrations/model/terms.ts'
import { sharedMoves } from './move-folder.ts'
import { sharedTargets, type TargetKind, targetKinds } from './targets.ts'

const createMove = sharedMoves()
const targets = sharedTargets()

const timeMs = 1_700_000_000_000
const timeless = (sizeBytes: number) => ({ type: 'file', sizeBytes }) as const
const file = (sizeBytes: number, modifiedMs = timeMs) => ({ ...timeless(sizeBytes), modifiedMs }) as const

/** By policy: Overwrite, SkipIfSizeMatch, SkipIfSizeAndTimeMatch, SkipIfDigestMatch. */
test.each<[what: string, Parameters<typeof isKnown>[1], Parameters<typeof isKnown>[2], unknown[]]>([
  ['nothing there', file(1), undefined, [false, false, false, false]],
  ['the same', file(1), file(1), [false, true, true, 'unread']],
  ['another size', file(1), file(2), [false, false, false, false]],
  ['a microsecond later', file(1), file(1, timeMs + 0.001), [false, true, true, 'unread']],
  ['two microseconds earlier', file(1), file(1, timeMs - 0.002), [false, true, false, 'unread']],
  ['both of 1970', file(1, 0), file(1, 0), [false, true, true, 'unread']],
  ['one of 1970', file(1, 0), file(1), [false, true, false, 'unread']],
  ['seconds before 1970', file(1, -5_500.25), file(1, -5_500.25), [false, true, true, 'unread']],
  ['no time', timeless(1), timeless(1), [false, true, false, 'unread']],
  ['a time at the source alone', file(1, 0), timeless(1), [false, true, false, 'unread']],
  ['a time at the target alone', timeless(1), file(1, 0), [false, true, false, 'unread']],
  ['a folder there', file(1), { ...file(1), type: 'folder' }, [false, false, false, false]],
  ['a link', { ...file(0), type: 'symlink' }, { ...file(0), type: 'symlink' }, [false, false, false, false]],
])('%s', (_, source, target, expected) => {
  expect(actionPolicyNames).toEqual([
    'Overwrite',
    'SkipIfSizeMatch',
    'SkipIfSizeAndTimeMatch',
    'SkipIfDigestMatch',
  ])
  expect(actionPolicyNames.map((policy) => isKnown(policy, source, target))).toEqual(expected)
})

test('times are compared as exactly as the coarser store keeps them', () => {
  const isSame = (laterMs: number, grainMs: number) =>
    isKnown('SkipIfSizeAndTimeMatch', file(1), file(1, timeMs + laterMs), grainMs)
  expect([isSame(999, 1_000), isSame(-999, 1_000), isSame(1_001, 1_000)]).toEqual([true, true, false])
  expect(isSame(999, exactMs)).toBe(false)
})

test('a time that the target keeps in whole seconds is the same, once no other write can have had it', () => {
  const secondMs = 1_700_000_000_000
  const isSame = (modifiedMs: number, its: { modifiedMs: number; changedMs: number }) =>
    isKnown('SkipIfSizeAndTimeMatch', file(1, modifiedMs), { ...file(1), ...its })
  const its = { modifiedMs: secondMs, changedMs: secondMs + 5_000 }
  expect([0, 1, 999].map((ms) => isSame(secondMs + ms, its))).toEqual([true, true, true])
  // In another second, and rounded up.
  expect([-1, 1_000].map((ms) => isSame(secondMs + ms, its))).toEqual([false, false])
  // Whoever wrote again within that second may have done so after the copy.
  expect([1_000, 2_000].map((ms) => isSame(secondMs + 600, { ...its, changedMs: secondMs + ms }))).toEqual([
    false,
    false,
  ])
  // A file system that keeps less than a second has this one by chance, or because somebody set it.
  expect(isSame(secondMs + 600, { ...its, changedMs: its.changedMs + 0.25 })).toBe(false)
})

/** Files of which the target has something already: name, content at both sides, seconds between their times. */
const files: [name: string, from: string, to: string | undefined, laterS: number][] = [
  ['same', 'content', 'content', 0],
  ['touched', 'content', 'content', 60],
  ['edited', 'content', 'CONTENT', 60],
  ['edited, time kept', 'content', 'CONTENT', 0],
  ['longer', 'content', 'content and more', 0],
  ['new', 'content', undefined, 0],
  ['empty', '', '', 60],
  ['large', 'x'.repeat(17 * 2 ** 20), 'x'.repeat(17 * 2 ** 20), 60],
  ['large, edited', 'x'.repeat(17 * 2 ** 20), `${'x'.repeat(17 * 2 ** 20 - 1)}y`, 0],
]

/** Of more than the engine moves in one piece; a folder's alone, as it takes a container its time to have them. */
const isLarge = (name: string) => name.startsWith('large')

const skippedBy: [policy: ActionPolicy, skipped: string[]][] = [
  ['Overwrite', []],
  ['SkipIfSizeMatch', ['same', 'touched', 'edited', 'edited, time kept', 'empty', 'large', 'large, edited']],
  ['SkipIfSizeAndTimeMatch', ['same', 'edited, time kept', 'large, edited']],
  ['SkipIfDigestMatch', ['same', 'touched', 'empty', 'large']],
]

const rows = skippedBy.flatMap(([policy, skipped]) => targetKinds.map((to) => ({ policy, to, skipped })))

test.each<{ policy: ActionPolicy; to: TargetKind; skipped: string[] }>(rows)(
  '$policy leaves alone what it says, in a $to',
  async ({ policy, to, skipped }) => {
    await using target = await targets.create(to)
    await using move = createMove({ policy, target: target.spec })
    const isHere = (name: string) => to === 'folder' || !isLarge(name)
    const all = files.filter(([name]) => isHere(name))
    const same = skipped.filter(isHere)
    const atMs = 1_700_000_000_123.456
    mkdirSync(move.at('from', 'folder'))
    for (const [name, from, there, laterS] of all) {
      const path = move.at('from', 'folder', name)
      writeFileSync(path, from)
      utimesSync(path, atMs / 1_000, atMs / 1_000)
      if (there !== undefined) await target.put(`folder/${name}`, there, atMs + laterS * 1_000)
    }
    const { counts, failures } = await move.run()
    expect(failures).toEqual([])
    expect(counts).toMatchObject({ filesSkipped: same.length, filesMigrated: all.length - same.length })
    const contents = await target.contents()
    for (const [name, from, there] of all)
      expect(contents[`folder/${name}`] === (same.includes(name) ? there : from), name).toBe(true)
    // What was copied has the time of the source.
    if (policy === 'SkipIfDigestMatch') return
    const again = await move.run()
    expect(again.counts.filesMigrated).toBe(policy === 'Overwrite' ? all.length : 0)
  },
)

test('Azure: a digest that the store keeps is taken, content without one is read', async () => {
  const { spec: target, client: container } = await targets.createContainer()
  await using move = createMove({ target })
  for (const name of ['same', 'other', 'no digest', 'a wrong digest']) {
    writeFileSync(move.at('from', name), 'content')
    const there = name === 'other' ? 'CONTENT' : 'content'
    await container.getBlockBlobClient(name).upload(there, there.length)
  }
  const md5 = (text: string) => createHash('md5').update(text).digest()
  const headers = { same: md5('content'), other: md5('CONTENT'), 'a wrong digest': md5('something') }
  for (const [name, blobContentMD5] of Object.entries(headers)) {
    await container.getBlockBlobClient(name).setHTTPHeaders({ blobContentMD5 })
  }
  await container.getBlockBlobClient('no digest').setHTTPHeaders({})
  const { counts, failures } = await move.run({}, { policy: 'SkipIfDigestMatch' })
  expect(failures).toEqual([])
  // That the digest is believed shows the wrong one: the file is copied though it was right.
  expect(counts).toMatchObject({ filesSkipped: 2, filesMigrated: 2 })
  const again = await move.run({}, { policy: 'SkipIfDigestMatch' })
  expect(again.counts).toMatchObject({ filesSkipped: 4, filesMigrated: 0 })
  const timed = await move.run({}, { policy: 'SkipIfSizeAndTimeMatch' })
  // Those that were skipped have the time of their upload, as nobody gave them another.
  expect(timed.counts).toMatchObject({ filesSkipped: 2, filesMigrated: 2 })
  const timedAgain = await move.run({}, { policy: 'SkipIfSizeAndTimeMatch' })
  expect(timedAgain.counts).toMatchObject({ filesSkipped: 4, filesMigrated: 0 })
})
