import { mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type ActionPolicy, actionPolicyNames } from '../../../subjects/migrations/model/terms.ts'
import { sharedMoves } from './move-folder.ts'
import { changed, reconcile } from './reconcile-folder.ts'
import { sharedTargets, targetKinds, type TargetKind } from './targets.ts'

const createMove = sharedMoves()
const targets = sharedTargets()

const timeMs = 1_600_000_000_000
const content = {
  untouched: 'content',
  'another size': 'content',
  'the same size': 'content',
  'size and time': 'content',
  deleted: 'content',
  'folder/deleted with it': 'content',
  'becomes a folder': 'content',
  'becomes a file/below': 'content',
}

/** A migration that has brought these files, to which somebody else has been at the target since. */
async function changedThere(to: TargetKind) {
  const target = await targets.create(to)
  const move = createMove({ target: target.spec })
  for (const [path, text] of Object.entries(content)) {
    mkdirSync(dirname(move.at('from', path)), { recursive: true })
    writeFileSync(move.at('from', path), text)
    utimesSync(move.at('from', path), timeMs / 1_000, timeMs / 1_000)
  }
  expect((await move.run()).failures).toEqual([])
  expect(await target.contents()).toEqual(content)
  await target.put('another size', 'of somebody else')
  await target.put('the same size', 'CONTENT')
  await target.put('size and time', 'CONTENT', timeMs)
  for (const path of ['deleted', 'folder', 'becomes a folder', 'becomes a file']) await target.remove(path)
  await target.put('becomes a folder/theirs', 'theirs')
  await target.put('becomes a file', 'theirs')
  await target.put('added', 'theirs')
  await target.put('added too/file', 'theirs')
  return {
    ...move,
    target,
    [Symbol.asyncDispose]: async () => {
      await target[Symbol.asyncDispose]()
      await move[Symbol.asyncDispose]()
    },
  }
}

const sides = targetKinds.map((to) => ({ to }))
const theirs = { added: 'theirs', 'added too/file': 'theirs' }

describe('a scan of a one-time migration after somebody else has changed the target', () => {
  /** What the policy takes for the same, and so leaves as somebody else has written it. */
  const left: Record<ActionPolicy, object> = {
    Overwrite: {},
    SkipIfSizeMatch: { 'the same size': 'CONTENT', 'size and time': 'CONTENT' },
    SkipIfSizeAndTimeMatch: { 'size and time': 'CONTENT' },
    SkipIfDigestMatch: {},
  }
  // That policies are the same for both, `move-policies.test.ts` shows.
  const rows = [
    ...actionPolicyNames.map((policy) => ({ to: 'folder' as const, policy })),
    { to: 'container' as const, policy: 'Overwrite' as const },
  ]
  test.each(rows)(
    '$policy, in a $to: brings back what it does not take for the same; what is of another type stays, as a failure',
    async ({ to, policy }) => {
      await using move = await changedThere(to)
      const { failures } = await move.run({}, { policy })
      expect(failures.map(({ path, failure }) => `${path} ${failure}`).toSorted()).toEqual([
        '/becomes a file unsupported',
        '/becomes a folder unsupported',
      ])
      const { 'becomes a folder': _, 'becomes a file/below': __, ...rest } = content
      expect(await move.target.contents()).toEqual({
        ...rest,
        ...left[policy],
        ...theirs,
        'becomes a folder/theirs': 'theirs',
        'becomes a file': 'theirs',
      })
    },
  )
})

describe('a comparison of a live migration after somebody else has changed the target', () => {
  const everything = changed('', { scope: 'tree' })

  test.each(sides)(
    'in a $to: all is as the source has it, and what was added since the first start is gone',
    async ({ to }) => {
      await using move = await changedThere(to)
      const live = { startedMs: Date.now() - 60_000 }
      const { failures, again } = await reconcile(move.mover, { ...move.spec, live }, [everything])
      expect(failures).toEqual([])
      // A container's time of a write has seconds alone: there it may be noticed.
      const { 'size and time': disguised, ...found } = await move.target.contents()
      const { 'size and time': _, ...rest } = content
      expect(found).toEqual(rest)
      if (to === 'folder') expect(disguised).toBe('CONTENT')
      expect(again).toEqual([])
    },
  )

  test.each(sides)('in a $to: what somebody had added before the first start stays', async ({ to }) => {
    await using move = await changedThere(to)
    await move.target.remove('becomes a folder')
    await move.target.remove('becomes a file')
    const live = { startedMs: Date.now() + 60_000 }
    const { failures } = await reconcile(move.mover, { ...move.spec, live }, [everything])
    expect(failures).toEqual([])
    expect(await move.target.contents()).toMatchObject({
      ...theirs,
      deleted: 'content',
      'another size': 'content',
    })
  })
})
