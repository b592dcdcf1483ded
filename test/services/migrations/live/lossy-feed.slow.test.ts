import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { DirtyFolder } from '../../../../services/drivers/feeds/dirty-folders.ts'
import { migrations } from '../../../../subjects/migrations/migrations.ts'
import { compareTrees } from '../../../support/compare-trees.ts'
import { type Lossy, setLossy } from '../../../support/lossy-source-double.ts'
import { addLocal, createFolder } from '../../../support/migrations.ts'
import { startTestPlatform, type TestPlatform } from '../../../support/platform.ts'
import { oneOf, randomBelow, seededRandom } from '../../../support/random.ts'
import { unlessGone, until } from '../../../support/until.ts'

const steps = Number(process.env['GANTRY_LIVE_STEPS'] ?? 1_500)
/** GANTRY_LIVE_SEED repeats a run that failed. */
const seed = Number(process.env['GANTRY_LIVE_SEED'] ?? Date.now() % 1_000_000)
const runs = Number(process.env['GANTRY_LIVE_RUNS'] ?? 1)

let platform: TestPlatform
beforeAll(async () => {
  platform = await startTestPlatform({
    kinds: [new URL('../../../support/lossy-source-double.ts', import.meta.url).href],
  })
})
afterAll(() => platform[Symbol.asyncDispose]())

const folders = ['a', 'b', 'b/c', 'd']
const paths = folders.flatMap((folder) => Array.from({ length: 8 }, (_, file) => `${folder}/file ${file}`))

/** What each path had, one after the other; undefined for nothing. Contents are never the same twice. */
class History {
  readonly #states = new Map<string, (string | undefined)[]>(paths.map((path) => [path, [undefined]]))

  add(path: string, content: string | undefined): void {
    this.#states.get(path)!.push(content)
  }

  /** How many states a path has had. */
  now(path: string): number {
    return this.#states.get(path)!.length
  }

  /** Whether it had this at that moment or later. */
  hadSince(path: string, moment: number, content: string | undefined): boolean {
    return this.#states
      .get(path)!
      .slice(moment - 1)
      .includes(content)
  }
}

const contentAt = (path: string): string | undefined =>
  existsSync(path) ? readFileSync(path, 'utf8') : undefined

/** Files that come, change, move and go at once each: whoever looks finds them whole. */
class Writer {
  readonly #root: string
  readonly #beside: string
  readonly #random: () => number
  readonly history = new History()
  #count = 0

  constructor(root: string, beside: string, random: () => number) {
    this.#root = root
    this.#beside = beside
    this.#random = random
    for (const folder of folders) mkdirSync(join(root, folder), { recursive: true })
  }

  step(): void {
    const path = oneOf(this.#random, paths)
    const at = join(this.#root, path)
    switch (randomBelow(this.#random, 8)) {
      case 0:
        if (!existsSync(at)) return
        rmSync(at)
        this.history.add(path, undefined)
        return
      case 1: {
        const other = oneOf(this.#random, paths)
        if (other === path || !existsSync(at)) return
        const content = contentAt(at)
        renameSync(at, join(this.#root, other))
        this.history.add(path, undefined)
        this.history.add(other, content)
        return
      }
      default: {
        const content = `${path} ${this.#count++} ${'x'.repeat(randomBelow(this.#random, 3_000))}`
        const temporary = join(this.#beside, 'next')
        writeFileSync(temporary, content)
        renameSync(temporary, at)
        this.history.add(path, content)
      }
    }
  }
}

/** The paths that something is told of. */
function toldOf({ folder, names, trees, scope }: DirtyFolder): string[] {
  const inside = (path: string) =>
    scope === 'names' ? false : scope === 'folder' ? dirname(path) === folder : isBelow(path, folder)
  const below = (path: string) =>
    [...names, ...trees].some((name) => isBelow(path, folder === '' ? name : `${folder}/${name}`))
  return paths.filter((path) => inside(path) || below(path))
}
const isBelow = (path: string, folder: string) =>
  folder === '' || path === folder || path.startsWith(`${folder}/`)

test.each(Array.from({ length: runs }, (_, run) => ({ seed: seed + run })))(
  `of a feed that loses, repeats and mixes up, nothing is lost, and what is done is at the target (seed $seed, ${steps} steps)`,
  { timeout: 1_200_000 },
  async ({ seed }) => {
    const random = seededRandom(seed)
    using folder = createFolder('source', 'target', 'beside')
    const writer = new Writer(folder.source, folder.beside, random)
    const early: string[] = []
    const lossy: Lossy = {
      random: seededRandom(seed + 1),
      lost: 0.1,
      repeated: 0.2,
      longestMs: 300,
      counts: { lost: 0, repeated: 0, told: 0, done: 0 },
      telling: (told) => {
        const moments = told
          .flatMap((one) => toldOf(one))
          .map((path) => [path, writer.history.now(path)] as const)
        return () => {
          for (const [path, moment] of moments) {
            const content = contentAt(join(folder.target, path))
            if (!writer.history.hadSince(path, moment, content))
              early.push(`${path}: ${content?.slice(0, 20) ?? 'nothing'}`)
          }
        }
      },
    }
    setLossy(lossy)
    const [source, target, migrationId] = [`source-${seed}`, `target-${seed}`, `lossy-${seed}`]
    await addLocal(platform, source, 'source', folder.source)
    await addLocal(platform, target, 'target', folder.target)
    const get = () => platform.call(migrations.get, { migrationId })
    await platform.call(migrations.create, {
      migrationId,
      path: '/',
      source,
      target,
      scanOnlyMigration: false,
      comparisonPeriodSeconds: 2,
      autoStart: true,
    })
    await until('it is live', async () => (await get()).state === 'LIVE')
    expect(await get()).toMatchObject({ changeDetection: 'notified' })
    for (let step = 0; step < steps; step++) {
      writer.step()
      const pause = randomBelow(random, 40)
      if (pause === 0) await delay(randomBelow(random, 60))
      else if (pause < 20) await nextTurn()
    }
    const isAtRest = () => unlessGone(() => compareTrees(folder.source, folder.target))?.length === 0
    await until('the target is as the source is', isAtRest).catch(() => undefined)
    expect(compareTrees(folder.source, folder.target)).toEqual([])
    await until('all that was told is done', () => lossy.counts.done === lossy.counts.told)
    expect(early).toEqual([])
    expect(lossy.counts.lost).toBeGreaterThan(0)
    expect(lossy.counts.repeated).toBeGreaterThan(0)
    expect(lossy.counts.done).toBeGreaterThan(10)
    setLossy(undefined)
  },
)
