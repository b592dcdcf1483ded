import {
  appendFileSync,
  chmodSync,
  lstatSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { migrations } from '../../../subjects/migrations.ts'
import { compareTrees, walkTree } from '../../support/compare-trees.ts'
import { addLocal, createFolder } from '../../support/migrations.ts'
import { startTestPlatform, type TestPlatform } from '../../support/platform.ts'
import { oneOf, randomBelow, seededRandom } from '../../support/random.ts'
import { until } from '../../support/until.ts'

/** Steps of one run; GANTRY_LIVE_STEPS makes it thousands. */
const steps = Number(process.env['GANTRY_LIVE_STEPS'] ?? 400)
/** GANTRY_LIVE_SEED repeats a run that failed. */
const seed = Number(process.env['GANTRY_LIVE_SEED'] ?? Date.now() % 1_000_000)
/** So often everything comes to rest, and is compared. */
const stepsBetweenRests = 100
/** A large file goes in parts, by an item of its own. */
const largeBytes = 17 * 2 ** 20
const fileModes = [0o644, 0o600, 0o755, 0o444]
const folderModes = [0o755, 0o700, 0o775]

let platform: TestPlatform
beforeAll(async () => {
  platform = await startTestPlatform()
})
afterAll(() => platform[Symbol.asyncDispose]())

/** Few names, so that they are used again and again, as files, folders and links in turn. */
const names = ['a', 'b', 'c', 'd', 'e', 'ü', 'a b']

type Random = () => number

class Source {
  readonly #root: string
  readonly #random: Random
  #writes = 0

  constructor(root: string, random: Random) {
    this.#root = root
    this.#random = random
  }

  /** Does something at random, and says what. */
  step(): string {
    const actions = [
      () => this.#write(),
      () => this.#write(),
      () => this.#append(),
      () => this.#replace(),
      () => this.#makeFolder(),
      () => this.#makeFolder(),
      () => this.#makeTree(),
      () => this.#rename(),
      () => this.#rename(),
      () => this.#remove(),
      () => this.#removeAndMakeAgain(),
      () => this.#link(),
      () => this.#mode(),
      () => this.#time(),
      ...(randomBelow(this.#random, 10) === 0 ? [() => this.#large()] : []),
    ]
    return oneOf(this.#random, actions)()
  }

  #all(type?: 'file' | 'folder'): string[] {
    const entries = [...walkTree(this.#root)]
    const isWanted = ({ stat }: (typeof entries)[number]) =>
      type === undefined || (type === 'file' ? stat.isFile() : stat.isDirectory())
    return entries.filter(isWanted).map(({ path }) => join(this.#root, path.toString()))
  }

  #one(type?: 'file' | 'folder'): string | undefined {
    const all = this.#all(type)
    return all.length === 0 ? undefined : oneOf(this.#random, all)
  }

  /** Somewhere, there or not. */
  #place(): string {
    return join(this.#one('folder') ?? this.#root, oneOf(this.#random, names))
  }

  #content(): string {
    return `${++this.#writes} `.repeat(1 + randomBelow(this.#random, 30))
  }

  #write(): string {
    const path = this.#place()
    return this.#try(`write ${path}`, () => writeFileSync(path, this.#content()))
  }

  #append(): string {
    const path = this.#one('file') ?? this.#place()
    return this.#try(`append to ${path}`, () => appendFileSync(path, this.#content()))
  }

  /** The way editors write: another file takes the place. */
  #replace(): string {
    const path = this.#place()
    const other = `${path}~`
    return this.#try(`replace ${path}`, () => {
      writeFileSync(other, this.#content())
      renameSync(other, path)
    })
  }

  #makeFolder(): string {
    const path = this.#place()
    return this.#try(`make folder ${path}`, () => mkdirSync(path, oneOf(this.#random, folderModes)))
  }

  #makeTree(): string {
    const path = this.#place()
    return this.#try(`make tree ${path}`, () => {
      mkdirSync(join(path, 'x/y'), { recursive: true })
      for (const name of ['1', 'x/2', 'x/y/3']) writeFileSync(join(path, name), this.#content())
    })
  }

  #rename(): string {
    const [from, to] = [this.#one(), this.#place()]
    if (from === undefined) return 'nothing to rename'
    return this.#try(`rename ${from} to ${to}`, () => renameSync(from, to))
  }

  #remove(): string {
    const path = this.#one()
    if (path === undefined) return 'nothing to remove'
    return this.#try(`remove ${path}`, () => rmSync(path, { recursive: true }))
  }

  #removeAndMakeAgain(): string {
    const path = this.#one()
    if (path === undefined) return 'nothing to make again'
    return this.#try(`make again ${path}`, () => {
      const wasFolder = lstatSync(path).isDirectory()
      rmSync(path, { recursive: true })
      if (wasFolder !== (randomBelow(this.#random, 2) === 0)) writeFileSync(path, this.#content())
      else {
        mkdirSync(path)
        writeFileSync(join(path, 'a'), this.#content())
      }
    })
  }

  #link(): string {
    const path = this.#place()
    const target = oneOf(this.#random, ['nowhere', relative(dirname(path), this.#one() ?? path)])
    return this.#try(`link ${path} to ${target}`, () => symlinkSync(target, path))
  }

  #mode(): string {
    const path = this.#one(oneOf(this.#random, ['file', 'folder']))
    if (path === undefined) return 'nothing to give a mode'
    return this.#try(`mode of ${path}`, () => {
      const isFolder = lstatSync(path).isDirectory()
      chmodSync(path, oneOf(this.#random, isFolder ? folderModes : fileModes))
    })
  }

  #time(): string {
    const path = this.#one('file')
    if (path === undefined) return 'nothing to give a time'
    return this.#try(`time of ${path}`, () => utimesSync(path, 1e9, 1e9 + randomBelow(this.#random, 1e6)))
  }

  #large(): string {
    const path = this.#place()
    return this.#try(`large ${path}`, () => {
      writeFileSync(path, this.#content())
      truncateSync(path, largeBytes + randomBelow(this.#random, 100))
    })
  }

  /** What cannot be done, such as a folder moved into itself, is left. */
  #try(what: string, work: () => void): string {
    try {
      work()
      return what
    } catch (error) {
      return `${what}: ${(error as Error).message}`
    }
  }
}

test(
  `the target is as the source is, whatever happens there (seed ${seed})`,
  { timeout: 1_200_000 },
  async () => {
    const random = seededRandom(seed)
    using folder = createFolder('source', 'target')
    const source = new Source(folder.source, random)
    const log: string[] = []
    // Some of it is there before.
    for (let i = 0; i < 50; i++) log.push(source.step())
    await addLocal(platform, 'source', 'source', folder.source)
    await addLocal(platform, 'target', 'target', folder.target)
    const migrationId = 'model'
    const get = () => platform.call(migrations.get, { migrationId })
    await platform.call(migrations.create, {
      migrationId,
      path: '/',
      source: 'source',
      target: 'target',
      scanOnlyMigration: false,
      autoStart: true,
    })
    for (let i = 0; i < steps; i++) {
      log.push(source.step())
      // At times many at once, at times one by one.
      const pause = randomBelow(random, 40)
      if (pause === 0) await new Promise((resolve) => setTimeout(resolve, randomBelow(random, 60)))
      else if (pause < 20) await nextTurn()
      if ((i + 1) % stepsBetweenRests > 0 && i + 1 < steps) continue
      const isAtRest = async () => {
        const { changeLagSeconds, state } = await get()
        return (
          state === 'LIVE' &&
          changeLagSeconds === 0 &&
          compareTrees(folder.source, folder.target).length === 0
        )
      }
      const hasRested = await until('all changes have arrived', isAtRest).catch(() => false)
      if (hasRested) continue
      const differences = compareTrees(folder.source, folder.target)
      const { failedPaths } = await platform.call(migrations.failures, { migrationId })
      const last = log.slice(-stepsBetweenRests).map((line) => line.replaceAll(folder.source, ''))
      expect({ seed, step: i, differences, view: await get(), failedPaths, last }).toBe('equal')
    }
    const { failedPaths } = await platform.call(migrations.failures, { migrationId })
    expect(failedPaths).toEqual([])
  },
)
