import {
  chmodSync,
  chownSync,
  existsSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { encodeItem } from '../../../services/engine/items/items.ts'
import type { MoveSpec } from '../../../services/engine/mover.ts'
import { compareTrees, walkTree } from '../../support/compare-trees.ts'
import { extendedOf, setExtended, whyNoExtended } from '../../support/extended.ts'
import { createFolder } from '../../support/migrations.ts'
import { isRoot, ordinaryUser, whyNotRunnable } from '../../support/ordinary-user.ts'
import { until } from '../../support/until.ts'
import { localSpec } from './local-spec.ts'
import { testUnless } from '../../support/unless.ts'
import { ordinaryScript, startOrdinaryMover } from './ordinary-mover.ts'
import { changed } from './reconcile-folder.ts'

const notRunnable = whyNotRunnable(ordinaryScript)
const noExtended = whyNoExtended()
let mover: ReturnType<typeof startOrdinaryMover>
beforeAll(() => {
  if (notRunnable === undefined) mover = startOrdinaryMover()
})
afterAll(() => mover?.[Symbol.asyncDispose]())

const runTest = (name: string, work: () => Promise<void>) => testUnless(notRunnable, name, work)

/**
 * What others than the owner may read: the copy is ours, and denies us. Only root can make such a source for us; of our own
 * we could not read it either.
 */
const ofOthers: Readonly<Record<string, number>> = {
  'closed/': 0o005,
  'closed/file': 0o004,
  'closed/in/': 0o1005,
  'closed/in/file': 0o204,
  'closed/in/empty/': 0o007,
  'listed/': 0o455,
  'listed/file': 0o644,
}
const modes: Readonly<Record<string, number>> = {
  'open/': 0o755,
  'open/file': 0o644,
  'locked/': 0o555,
  'locked/file': 0o644,
  'locked/fixed': 0o444,
  'locked/deep/': 0o1555,
  'locked/deep/file': 0o400,
  'locked/deep/open/': 0o755,
  'locked/deep/open/file': 0o644,
  'group/': 0o2555,
  'group/file': 0o644,
  ...(isRoot ? ofOthers : {}),
}
/** The folder that denies most. */
const worst = isRoot ? 'closed/in' : 'locked/deep'
const denying = new Set(['locked', 'locked/deep', worst])

function fill(root: string): void {
  for (const path of Object.keys(modes)) {
    const at = join(root, path)
    mkdirSync(path.endsWith('/') ? at : dirname(at), { recursive: true })
    if (!path.endsWith('/')) writeFileSync(at, `of ${path}`)
  }
  for (const [path, mode] of Object.entries(modes).toReversed()) {
    const at = join(root, path)
    if (isRoot && !(path in ofOthers)) chownSync(at, ordinaryUser, ordinaryUser)
    utimesSync(at, 1e9, 1e9)
    chmodSync(at, mode)
  }
}

function createMove(changes: Partial<MoveSpec> = {}) {
  const folder = createFolder('from', 'to')
  const { from, to } = folder
  chmodSync(folder.root, 0o755)
  if (isRoot) for (const path of [from, to]) lchownSync(path, ordinaryUser, ordinaryUser)
  const spec = localSpec({ from, to }, changes)
  return {
    spec,
    from: (path: string) => join(from, path),
    to: (path: string) => join(to, path),
    differences: () => compareTrees(from, to, () => false, false),
    /** Does something in a folder whose mode may deny it, which keeps its mode. */
    within: (path: string, work: () => void) => {
      const { mode } = lstatSync(path)
      chmodSync(path, 0o755)
      work()
      chmodSync(path, mode & 0o7777)
    },
    [Symbol.dispose]: folder[Symbol.dispose],
  }
}

/** As many until one leaves the folder opened, which is mostly the first. */
const maxKills = 5
const everything = changed('', { scope: 'tree' })
const live = { startedMs: Date.now() - 60_000 }
const modeOf = (path: string) => lstatSync(path).mode & 0o7777

describe('a one-time migration', () => {
  runTest('run again after changes, with every policy', async () => {
    using move = createMove()
    fill(move.from(''))
    expect(await mover.run(move.spec)).toMatchObject({
      failures: [],
      counts: { timesNotKept: 0, failures: 0 },
    })
    expect(move.differences()).toEqual([])
    for (const policy of ['Overwrite', 'SkipIfSizeAndTimeMatch', 'SkipIfDigestMatch'] as const) {
      for (const folder of denying)
        move.within(move.from(folder), () => {
          writeFileSync(move.from(`${folder}/${policy}`), policy, { mode: 0o644 })
          rmSync(move.from(`${folder}/file`))
          writeFileSync(move.from(`${folder}/file`), `after ${policy}`, { mode: 0o644 })
          mkdirSync(move.from(`${folder}/of ${policy}`), { mode: 0o755 })
        })
      const { failures, counts } = await mover.run({ ...move.spec, policy })
      expect(failures, policy).toEqual([])
      expect(counts.timesNotKept, policy).toBe(0)
      expect(move.differences(), policy).toEqual([])
    }
    expect(await mover.compare(move.spec)).toEqual([])
  })

  runTest(
    'of many files into a folder that denies them, by two threads, and into a root that does',
    async () => {
      using move = createMove({ metadata: { modes: false, owners: false, attributes: false } })
      const count = 600
      mkdirSync(move.from('many'))
      for (let index = 0; index < count; index++) writeFileSync(move.from(`many/${index}`), `${index}`)
      writeFileSync(move.from('file'), 'x')
      mkdirSync(move.to('many'))
      if (isRoot) chownSync(move.to('many'), ordinaryUser, ordinaryUser)
      chmodSync(move.to('many'), 0o555)
      chmodSync(move.to(''), 0o555)
      expect((await mover.run(move.spec)).failures).toEqual([])
      expect([modeOf(move.to('')), modeOf(move.to('many'))]).toEqual([0o555, 0o555])
      expect(readdirSync(move.to('many'))).toHaveLength(count)
      expect(readFileSync(move.to('file'), 'utf8')).toBe('x')
    },
  )

  runTest('deletes trees with such folders, and moves them to the trash', async () => {
    for (const how of [{}, { trash: 'first' }]) {
      using move = createMove()
      fill(move.from(''))
      expect((await mover.run(move.spec)).failures).toEqual([])
      move.within(move.from('locked'), () => {
        chmodSync(move.from('locked/deep'), 0o755)
        rmSync(move.from('locked/deep'), { recursive: true })
        rmSync(move.from('locked/file'))
      })
      if (isRoot) rmSync(move.from('closed'), { recursive: true })
      rmSync(move.from('open'), { recursive: true })
      expect(await mover.match(move.spec, how)).toBe('')
      const isKept = 'trash' in how
      expect(existsSync(move.to('.gantry-trash/first/locked/file'))).toBe(isKept)
      if (isKept) {
        expect(modeOf(move.to('.gantry-trash/first/locked/deep'))).toBe(0o1555)
        chmodSync(move.to('.gantry-trash/first/locked/deep'), 0o755)
        rmSync(move.to('.gantry-trash'), { recursive: true })
      }
      await mover.run(move.spec)
      expect(move.differences()).toEqual([])
    }
  })
})

runTest('a cleanup says what the source did not let go', async () => {
  using move = createMove()
  mkdirSync(move.from('locked/empty'), { recursive: true })
  for (const path of ['file', 'locked/file']) writeFileSync(move.from(path), path)
  for (const path of ['locked/empty', 'locked']) chmodSync(move.from(path), 0o555)
  expect((await mover.run(move.spec)).failures).toEqual([])
  expect(await mover.clean(move.spec)).toEqual([
    expect.stringMatching(/^NOT_REMOVED \/locked .*EACCES in rmdir/),
    expect.stringMatching(/^NOT_REMOVED \/locked\/file .*EACCES in unlink/),
    'REMOVED /file',
  ])
})

runTest('a path mapping leads into a folder that denies it', async () => {
  const mapping = { from: Buffer.from('mapped'), to: Buffer.from('kept/in/there') }
  using move = createMove({ mappings: [mapping] })
  mkdirSync(move.from('mapped'), { mode: 0o755 })
  writeFileSync(move.from('mapped/file'), 'x')
  mkdirSync(move.to('kept'))
  if (isRoot) chownSync(move.to('kept'), ordinaryUser, ordinaryUser)
  chmodSync(move.to('kept'), 0o555)
  expect((await mover.run(move.spec)).failures).toEqual([])
  expect(readFileSync(move.to('kept/in/there/file'), 'utf8')).toBe('x')
  expect(modeOf(move.to('kept'))).toBe(0o555)
})

describe('a live migration', () => {
  runTest('applies changes in such folders', async () => {
    using move = createMove({ live, metadata: { modes: true, owners: true, attributes: true } })
    fill(move.from(''))
    expect((await mover.run(move.spec)).failures).toEqual([])
    for (const folder of [...denying, 'group']) {
      move.within(move.from(folder), () => {
        writeFileSync(move.from(`${folder}/new`), 'new', { mode: 0o444 })
        rmSync(move.from(`${folder}/file`))
        mkdirSync(move.from(`${folder}/made/below`), { recursive: true })
        chmodSync(move.from(`${folder}/made`), 0o555)
      })
      const names = ['new', 'file']
      const { failures } = await mover.reconcile(move.spec, [changed(folder, { names, trees: ['made'] })])
      expect(failures, folder).toEqual([])
      expect(move.differences(), folder).toEqual([])
      move.within(move.from(folder), () => {
        renameSync(move.from(`${folder}/new`), move.from(`${folder}/renamed`))
        chmodSync(move.from(`${folder}/renamed`), 0o644)
        if (noExtended === undefined) setExtended(move.from(folder), { 'user.x': folder })
        chmodSync(move.from(`${folder}/made`), 0o755)
        rmSync(move.from(`${folder}/made/below`), { recursive: true })
        chmodSync(move.from(`${folder}/made`), 0o555)
      })
      const again = [
        changed(dirname(folder) === '.' ? '' : dirname(folder), { names: [folder.split('/').at(-1)!] }),
        changed(folder, { names: ['renamed', 'new'], trees: ['made'] }),
      ]
      expect((await mover.reconcile(move.spec, again)).failures, folder).toEqual([])
      expect(move.differences(), folder).toEqual([])
      if (noExtended === undefined && isRoot)
        expect(extendedOf(move.to(folder))).toEqual(extendedOf(move.from(folder)))
    }
    for (const [path, mode] of [
      ['locked/fixed', 0o600],
      ['locked/deep', 0o755],
      [worst, isRoot ? 0o015 : 0o555],
      ['open', 0o555],
    ] as const) {
      chmodSync(move.from(path), mode)
      const told = changed(dirname(path) === '.' ? '' : dirname(path), { names: [path.split('/').at(-1)!] })
      expect((await mover.reconcile(move.spec, [told])).failures, path).toEqual([])
      expect(move.differences(), path).toEqual([])
    }
    for (const { path, stat } of walkTree(move.from('locked')))
      if (stat.isDirectory()) chmodSync(move.from(`locked/${path.toString()}`), 0o755)
    chmodSync(move.from('locked'), 0o755)
    rmSync(move.from('locked'), { recursive: true })
    const { failures, gone } = await mover.reconcile(move.spec, [changed('', { trees: ['locked'] })])
    expect(failures).toEqual([])
    expect(gone).toEqual(['/locked'])
    expect(move.differences()).toEqual([])
    expect((await mover.reconcile(move.spec, [everything])).failures).toEqual([])
  })

  runTest('gives what a killed process left with its own rights the mode of the source', async () => {
    using move = createMove({ live })
    fill(move.from(''))
    await mover.run(move.spec)
    const folders = Object.keys(modes).filter((path) => path.endsWith('/'))
    const leave = () => {
      for (const path of folders) chmodSync(move.to(path), modeOf(move.to(path)) | 0o700)
    }
    leave()
    await mover.reconcile(move.spec, [everything])
    expect(move.differences()).toEqual([])
    const { live: _, ...spec } = move.spec
    leave()
    await mover.run(spec)
    expect(move.differences()).toEqual([])
    // Of an item that tries a failure again, no folder is finished.
    for (let at = worst; at !== '.'; at = dirname(at)) chmodSync(move.to(at), modeOf(move.to(at)) | 0o700)
    const group = { folder: Buffer.from(worst), files: [Buffer.from('file')], others: [] }
    const item = encodeItem({ kind: 'transfer', attempt: 1, notBeforeMs: 0, groups: [group] })
    expect(await mover.transferAgain(spec, item)).toEqual([])
    expect(move.differences().filter((difference) => !difference.includes('its time'))).toEqual([])
  })
})

runTest(
  'a process that is killed while it has rights to a folder leaves them until the next run, and nothing else',
  async () => {
    using move = createMove()
    mkdirSync(move.from('many'))
    for (let index = 0; index < 300; index++) writeFileSync(move.from(`many/${index}`), `${index}`)
    if (isRoot) chownSync(move.from('many'), ordinaryUser, ordinaryUser)
    chmodSync(move.from('many'), 0o555)
    await mover.run(move.spec)
    const to = move.to('many')
    let hasLeft = false
    for (let kill = 0; kill < maxKills && !hasLeft; kill++) {
      const killed = startOrdinaryMover()
      // Without modes no scan opens the folder, so that it is lent what it needs.
      const spec = { ...move.spec, metadata: { modes: false, owners: false, attributes: false } }
      const runs = async (): Promise<never> => {
        for (;;) await killed.run(spec)
      }
      const ended = expect(runs()).rejects.toThrow('the process has ended')
      await until('it has the folder opened', () => modeOf(to) === 0o755)
      await killed.kill()
      await ended
      hasLeft = modeOf(to) === 0o755
    }
    expect(hasLeft).toBe(true)
    await mover.run({ ...move.spec, generation: 2 })
    expect(move.differences()).toEqual([])
  },
)
