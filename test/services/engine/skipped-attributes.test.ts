import { chmodSync, chownSync, lstatSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { ActionPolicy } from '../../../subjects/migrations/model/terms.ts'
import { type Losses, StoreError } from '../../../services/drivers/contract/driver.ts'
import type { FailureClass } from '../../../services/drivers/contract/store-error.ts'
import { LocalDriver } from '../../../services/drivers/local/local.ts'
import { noCounts } from '../../../services/engine/run/counts.ts'
import { dressSkipped } from '../../../services/engine/tree/match-folder.ts'
import { ToldNames } from '../../../services/engine/walk/plan-by.ts'
import type { PlanBy } from '../../../services/engine/walk/plan-by.ts'
import { Planned, planAll } from '../../../services/migrations/removals/plan-walk.ts'
import type { MoveSpec } from '../../../services/engine/mover.ts'
import { testUnless } from '../../support/unless.ts'
import { liveSpec } from './local-spec.ts'
import { sharedMoves } from './move-folder.ts'
import { changed, reconcile } from './reconcile-folder.ts'
import { createRun } from './runs.ts'

const createMove = sharedMoves()
type Move = ReturnType<typeof createMove>

const { signal } = new AbortController()
const hourAgo = Date.now() / 1_000 - 3_600
const modeOf = (path: string) => lstatSync(path).mode & 0o7777

/** A file on both sides, of the same time and size. */
function fill(move: Move, mode: number, modeThere: number, content = 'content') {
  for (const [side, its] of [
    ['from', mode],
    ['to', modeThere],
  ] as const) {
    writeFileSync(move.at(side, 'file'), content)
    chmodSync(move.at(side, 'file'), its)
    utimesSync(move.at(side, 'file'), hourAgo, hourAgo)
  }
}

async function planOf(move: Move, spec: MoveSpec, by: PlanBy) {
  const planned = new Planned()
  await planAll(move.mover, spec, { by, planned, spillFolder: move.at('spill'), signal })
  return planned.samples
}

const policies: ActionPolicy[] = ['SkipIfSizeMatch', 'SkipIfSizeAndTimeMatch', 'SkipIfDigestMatch']

test.each(policies)('%s: a file that is skipped gets the mode that the source has', async (policy) => {
  await using move = createMove({ policy })
  fill(move, 0o600, 0o644)
  const { ino, mtimeMs } = lstatSync(move.at('to', 'file'))
  const { counts, failures } = await move.run()
  expect(failures).toEqual([])
  expect(counts).toMatchObject({ filesSkipped: 1, filesMigrated: 0, modesNotKept: 0 })
  expect(modeOf(move.at('to', 'file'))).toBe(0o600)
  expect(lstatSync(move.at('to', 'file'))).toMatchObject({ ino, mtimeMs })
})

test('a large file that is skipped by its content does too', async () => {
  await using move = createMove({ policy: 'SkipIfDigestMatch' })
  fill(move, 0o600, 0o644, 'large'.repeat(4 * 2 ** 20))
  const { counts } = await move.run()
  expect(counts).toMatchObject({ filesSkipped: 1, filesMigrated: 0 })
  expect(modeOf(move.at('to', 'file'))).toBe(0o600)
})

test('its time and content stay: what has only the size may be another file', async () => {
  await using move = createMove({ policy: 'SkipIfSizeMatch' })
  fill(move, 0o600, 0o644)
  writeFileSync(move.at('to', 'file'), 'CONTENT')
  const { mtimeMs } = lstatSync(move.at('to', 'file'))
  expect(await planOf(move, move.spec, { as: 'match' })).toMatchObject([
    { action: 'SKIP', path: '/file', reason: 'same size; its mode and owner are set' },
  ])
  await move.run()
  expect(modeOf(move.at('to', 'file'))).toBe(0o600)
  expect(lstatSync(move.at('to', 'file')).mtimeMs).toBe(mtimeMs)
  expect(readFileSync(move.at('to', 'file'), 'utf8')).toBe('CONTENT')
})

test('a migration that keeps no modes leaves them', async () => {
  const metadata = { modes: false, owners: false, attributes: false }
  await using move = createMove({ policy: 'SkipIfSizeMatch', metadata })
  fill(move, 0o600, 0o644)
  await move.run()
  expect(modeOf(move.at('to', 'file'))).toBe(0o644)
})

testUnless(
  process.getuid?.() === 0 ? undefined : 'only root gives files away',
  'it gets owner, group and special bits, too',
  async () => {
    await using move = createMove({ policy: 'SkipIfSizeAndTimeMatch' })
    fill(move, 0o4755, 0o4755)
    chownSync(move.at('from', 'file'), 1001, 2001)
    chmodSync(move.at('from', 'file'), 0o4755)
    const { counts } = await move.run()
    expect(counts).toMatchObject({ filesSkipped: 1, ownersNotKept: 0, modesNotKept: 0 })
    expect(lstatSync(move.at('to', 'file'))).toMatchObject({ uid: 1001, gid: 2001 })
    expect(modeOf(move.at('to', 'file'))).toBe(0o4755)
  },
)

/** A target at which setting attributes fails. */
class FailingTarget extends LocalDriver {
  readonly #failure: FailureClass

  constructor(fsRoot: string, failure: FailureClass) {
    super({ fsRoot })
    this.#failure = failure
  }

  override async setAttributes(): Promise<Losses> {
    throw new StoreError(this.#failure, 'not now')
  }
}

test('what the target refuses is counted, and an outage is told', async () => {
  await using move = createMove()
  fill(move, 0o600, 0o644)
  const path = Buffer.from('file')
  const source = new LocalDriver({ fsRoot: move.from })
  const dressed = async (failure: FailureClass) => {
    const target = new FailingTarget(move.to, failure)
    const [its, there] = [await source.stat(path), await target.stat(path)]
    const counts = noCounts()
    await dressSkipped(createRun(source, target), { path, source: its!, target: there! }, counts)
    return counts
  }
  expect(await dressed('permission')).toMatchObject({ modesNotKept: 1, ownersNotKept: 0 })
  await expect(dressed('unreachable')).rejects.toMatchObject({ failure: 'unreachable', side: 'target' })
})

test.each(policies)('%s: a comparison of a live migration gives it to older files', async (policy) => {
  await using move = createMove()
  fill(move, 0o600, 0o644)
  const spec = { ...liveSpec(move, { policy }), live: { startedMs: Date.now() + 60_000 } }
  const by = { as: 'comparison', told: new ToldNames().pack() } as const
  expect(await planOf(move, spec, by)).toMatchObject([
    { action: 'SKIP', path: '/file', reason: expect.stringContaining('mode') },
  ])
  const { ino } = lstatSync(move.at('to', 'file'))
  const { counts, failures } = await reconcile(move.mover, spec, [changed('', { scope: 'tree' })])
  expect(failures).toEqual([])
  expect(counts.filesMigrated).toBe(0)
  expect(modeOf(move.at('to', 'file'))).toBe(0o600)
  expect(lstatSync(move.at('to', 'file')).ino).toBe(ino)
})
