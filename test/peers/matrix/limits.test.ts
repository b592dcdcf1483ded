import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect } from 'vitest'
import { settings } from '../../../subjects/access/settings.ts'
import { loopback } from '../../../subjects/kit/names.ts'
import { bandwidth } from '../../../subjects/migrations/bandwidth.ts'
import { pattern } from '../../conformance/driver-store.ts'
import { compareTrees } from '../../support/compare-trees.ts'
import { addLocal, createFolder, migrate } from '../../support/migrations.ts'
import { startTestPlatform, type TestPlatform } from '../../support/platform.ts'
import { addStore, startStores, type StoreName, storeNames, whyNo } from '../../support/stores.ts'
import { testUnless } from '../../support/unless.ts'

const MiB = 2 ** 20
/** One of several parts, one of one, and small ones. */
const sizes = [12 * MiB + 1, MiB, ...Array<number>(20).fill(100_000)]
const bytes = sizes.reduce((sum, size) => sum + size, 0)
const limitMiB = 6
/** A fifth of a second of the limit is free at the start. */
const leastSeconds = bytes / (limitMiB * MiB) - 0.2
const requestsPerSecond = 10

let platform: TestPlatform
beforeAll(async () => {
  platform = await startTestPlatform()
  await platform.call(settings.put, { storeHosts: [loopback] })
})
afterAll(() => platform[Symbol.asyncDispose]())

const secondsOf = async (work: () => Promise<unknown>): Promise<number> => {
  const begun = performance.now()
  await work()
  return (performance.now() - begun) / 1_000
}

for (const name of storeNames.filter((one): one is Exclude<StoreName, 'local'> => one !== 'local'))
  testUnless(
    whyNo[name],
    `${name}: bytes and requests have their limits, to it and from it`,
    async () => {
      using folder = createFolder('from', 'to', 'again')
      mkdirSync(join(folder.from, 'tree'))
      for (const [index, size] of sizes.entries())
        writeFileSync(join(folder.from, 'tree', `${index}`), pattern(size, index))
      await using stores = await startStores(name)
      const spec = await stores.create('limits')
      await addLocal(platform, `${name}-from`, 'source', folder.from)
      await addStore(platform, `${name}-target`, 'target', spec)
      await addStore(platform, `${name}-source`, 'source', spec)
      for (const to of ['to', 'again'] as const)
        await addLocal(platform, `${name}-${to}`, 'target', folder[to])
      const moved = async (source: string, target: string, limit: object) => {
        await platform.call(bandwidth.set, { scope: 'global', ...limit })
        const ends = { source: `${name}-${source}`, target: `${name}-${target}` }
        const seconds = await secondsOf(async () => {
          const { failures, progress } = await migrate(platform, {
            ...ends,
            migrationId: `${name}-${target}`,
            path: '/tree',
          })
          expect(failures).toEqual([])
          expect(progress.filesMigrated).toBe(sizes.length)
        })
        await platform.call(bandwidth.delete, { scope: 'global' })
        return seconds
      }
      const ofBytes = { limit: limitMiB, unit: 'MiB' }
      expect(await moved('from', 'target', ofBytes)).toBeGreaterThan(leastSeconds)
      expect(await moved('source', 'to', ofBytes)).toBeGreaterThan(leastSeconds)
      expect(compareTrees(join(folder.from, 'tree'), join(folder.to, 'tree'), undefined, true, 1)).toEqual([])
      // Each file is a request at least, those of the first fifth of a second aside.
      expect(await moved('source', 'again', { requests: requestsPerSecond })).toBeGreaterThan(
        sizes.length / requestsPerSecond - 0.2,
      )
    },
    120_000,
  )
