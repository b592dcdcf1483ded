import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { canRename } from '../../../../services/migrations/places/asked-drivers.ts'
import { matchTarget } from '../../../../services/migrations/removals/match-target.ts'
import { requireTrash } from '../../../../services/migrations/api/target-match.ts'
import type { FilesystemSpec } from '../../../../subjects/filesystems/kinds.ts'
import type { MigrationRecord } from '../../../../services/migrations/lifecycle/record.ts'
import { createFolder } from '../../../support/migrations.ts'
import { createMove } from '../../engine/move-folder.ts'

test('a trash is for a target that can rename, and nothing else', async () => {
  using folder = createFolder('to')
  const targets: Record<string, FilesystemSpec> = {
    folder: { kind: 'local', options: { fsRoot: folder.to } },
    // Nothing is asked of it.
    lake: {
      kind: 'adls2-shared-key',
      options: { accountName: 'account', sharedKey: 'a2V5', containerName: 'data' },
    },
  }
  const store = { canRename: (id: string) => canRename(targets[id]!) }
  const ask = (target: string) => requireTrash(store, target, { trash: true })
  await ask('folder')
  await expect(ask('lake')).rejects.toMatchObject({
    code: 'NOT_ACCEPTED',
    details: [
      {
        field: 'trash',
        problem: 'requires a target that can rename files, such as a local folder or HDFS; lake cannot',
      },
    ],
  })
})

/** Matches a target to which `late` files come when all is counted and the first file is about to go. */
async function matchWhileComing(
  before: number,
  late: number,
  record: Pick<MigrationRecord, 'targetMatch' | 'approvedDeletions'>,
) {
  await using move = createMove({})
  const fill = (name: string, count: number) => {
    mkdirSync(join(move.to, name))
    for (let i = 0; i < count; i++) writeFileSync(join(move.to, name, `${i}`), 'only here')
  }
  mkdirSync(join(move.from, 'early'))
  mkdirSync(join(move.from, 'late'))
  writeFileSync(join(move.from, 'file'), 'content')
  fill('early', before)
  const { mover } = move
  let hasCome = false
  const dependencies = {
    mover: {
      walksAtOnce: mover.walksAtOnce,
      plan: mover.plan.bind(mover),
      match: (...args: Parameters<typeof mover.match>) => {
        if (!hasCome) fill('late', late)
        hasCome = true
        return mover.match(...args)
      },
    },
    failures: refusing(),
    spillFolder: move.at('spill'),
  }
  const whole = { path: '/', pendingRegions: [], created: new Date().toISOString(), ...record }
  const { signal } = new AbortController()
  const deletions = await matchTarget(
    dependencies,
    whole as unknown as MigrationRecord,
    move.spec,
    signal,
    async () => undefined,
  )
  const left = ['early', 'late'].flatMap((name) => readdirSync(join(move.to, name)))
  return { deletions, left: left.length }
}

/** Nothing fails here. */
const refusing = (): Parameters<typeof matchTarget>[0]['failures'] =>
  new Proxy({} as Parameters<typeof matchTarget>[0]['failures'], {
    get: () => () => {
      throw new Error('a failure was noted')
    },
  })

test('what comes to the target after it was counted waits for approval when it is too much', async () => {
  const limits = { targetMatch: { maxDeletions: 3, maxDeletionPercent: 100 } }
  const { deletions, left } = await matchWhileComing(2, 5, limits)
  expect(deletions).toMatchObject({ isHeld: true, files: 5 })
  expect(left).toBe(5)
})

test('an approval covers no more deletions than it was given for', async () => {
  const limits = { targetMatch: { maxDeletions: 0, maxDeletionPercent: 100 }, approvedDeletions: 4 }
  const { deletions, left } = await matchWhileComing(4, 2, limits)
  expect(deletions).toMatchObject({ isHeld: true, files: 2 })
  expect(left).toBe(2)
})

test('what comes to the target after it was counted goes as well when it is little', async () => {
  const limits = { targetMatch: { maxDeletions: 3, maxDeletionPercent: 100 } }
  const { deletions, left } = await matchWhileComing(2, 3, limits)
  expect(deletions).toMatchObject({ isHeld: false, files: 5 })
  expect(left).toBe(0)
})
