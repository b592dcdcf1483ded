import { existsSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { bandwidth } from '../../subjects/migrations/bandwidth.ts'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { compareTrees } from '../support/compare-trees.ts'
import { addLocal, createFolder } from '../support/migrations.ts'
import { createHome } from '../support/platform.ts'
import { until } from '../support/until.ts'
import { Victim } from './victim.ts'

const migrationId = 'figures'
const KiB = 1024
const kills = 4

test('what was found adds up when everything is killed while files go and change before they are copied', async () => {
  using folder = createFolder('from', 'to')
  const home = await createHome()
  const names = Array.from({ length: 12 }, (_, index) => `file-${index}`)
  for (const name of names) writeFileSync(join(folder.from, name), Buffer.alloc(64 * KiB, 1))
  {
    await using victim = new Victim(home)
    await victim.start()
    await addLocal(victim, 'from', 'source', folder.from)
    await addLocal(victim, 'to', 'target', folder.to)
    const input = { migrationId, path: '/', source: 'from', target: 'to', scanOnlyMigration: false }
    await victim.call(migrations.create, input)
    const limited = { scope: 'migration', name: migrationId } as const
    await victim.call(bandwidth.set, { ...limited, limit: 32, unit: 'KiB' })
    await victim.call(migrations.start, { migrationId })
    const info = () => victim.call(migrations.progress, { migrationId })
    await until('all is listed', async () => (await info()).progress.migratedPercentage !== undefined)
    const left = names.filter((name) => !existsSync(join(folder.to, name)))
    for (let kill = 0; kill < kills; kill++) {
      await victim.kill()
      const [gone, smaller] = left.slice(-2 * (kill + 1))
      rmSync(join(folder.from, gone!), { force: true })
      if (existsSync(join(folder.from, smaller!))) truncateSync(join(folder.from, smaller!), 10 * KiB + kill)
      await victim.start()
      if (kill === kills - 2) await victim.call(bandwidth.delete, limited)
    }
    await until('it follows changes', async () => (await info()).state === 'LIVE')
    await until('the target is as the source is', () => compareTrees(folder.from, folder.to).length === 0)
    await until('nothing is pending', async () => {
      const { unscheduledEvents, scheduledEvents } = (await info()).progress
      return unscheduledEvents === 0 && scheduledEvents === 0
    })
    await victim.call(migrations.stop, { migrationId })
    await until('it is stopped', async () => (await info()).state === 'STOPPED')
    const { progress } = await info()
    const { filesScanned, filesMigrated, filesSkipped, filesSuperseded, failedPaths } = progress
    expect(failedPaths).toBe(0)
    expect(filesSuperseded).toBeGreaterThan(0)
    expect(filesMigrated + filesSkipped + filesSuperseded).toBe(filesScanned)
    expect(progress.migratedBytes + progress.bytesSuperseded).toBe(progress.totalBytes)
    expect(progress.migratedPercentage).toBe(100)
  }
  rmSync(home, { recursive: true, force: true })
})
