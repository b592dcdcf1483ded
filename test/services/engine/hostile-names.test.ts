import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { deepItem } from '../../../services/engine/items/item-decode.ts'
import { startRegion } from '../../../services/engine/items/items.ts'
import { Mover } from '../../../services/engine/mover.ts'
import { type ListedFile, startHostileHdfsDouble } from '../../support/hostile-hdfs-double.ts'
import { createFolder } from '../../support/migrations.ts'
import { testLog } from '../../support/platform.ts'
import { drive } from './drive.ts'
import { localSpec } from './local-spec.ts'
import { changed, reconcile } from './reconcile-folder.ts'

/** Of a server that would have us write beside the target, which is `base/to` with the migration in `m`. */
const listings: readonly [string, (folder: string) => readonly ListedFile[]][] = [
  [
    'files with ways up in their names',
    (folder) =>
      folder === 'm'
        ? [
            { pathSuffix: '../../victim/planted.txt', type: 'FILE' },
            { pathSuffix: '../../victim/kept.txt', type: 'FILE' },
          ]
        : [],
  ],
  [
    'folders with ways up in their names',
    (folder) =>
      folder === 'm'
        ? [
            { pathSuffix: '../../victim', type: 'DIRECTORY', permission: '777' },
            { pathSuffix: '..', type: 'DIRECTORY', permission: '777' },
            { pathSuffix: 'a/../../../victim/planted', type: 'DIRECTORY' },
          ]
        : [{ pathSuffix: 'planted.txt', type: 'FILE' }],
  ],
]
const ways = ['scan', 'deep scan', 'comparison', 'deep comparison'] as const

for (const [what, listing] of listings)
  test.each(ways)(`${what}: a %s writes nothing outside of the target, and tells of each`, async (way) => {
    await using source = await startHostileHdfsDouble(listing)
    using folder = createFolder('to', 'victim')
    mkdirSync(join(folder.to, 'm'))
    writeFileSync(join(folder.victim, 'kept.txt'), 'precious')
    const mode = statSync(folder.victim).mode
    const spec = {
      ...localSpec({ from: '/nowhere', to: folder.to }),
      root: new Uint8Array(Buffer.from('m')),
      source: { kind: 'hdfs', options: source.options },
      ...(way.endsWith('comparison') && { live: { startedMs: Date.now() - 60_000 } }),
    } as const
    const mover = new Mover({ threads: 1, log: testLog })
    let failures: readonly { readonly failure: string }[]
    try {
      const isDeep = way.startsWith('deep')
      const start = isDeep ? { start: deepItem(startRegion()) } : {}
      ;({ failures } = way.endsWith('scan')
        ? await drive(mover, spec, start)
        : await reconcile(mover, spec, [changed('', { scope: 'tree' })], isDeep))
    } finally {
      await mover.close()
    }
    const listed = listing('m').length
    expect(failures.filter(({ failure }) => failure === 'name')).toHaveLength(listed)
    expect(readdirSync(folder.victim)).toEqual(['kept.txt'])
    expect(readFileSync(join(folder.victim, 'kept.txt'), 'utf8')).toBe('precious')
    expect(statSync(folder.victim).mode).toBe(mode)
    expect(readdirSync(folder.root).toSorted()).toEqual(['to', 'victim'])
    expect(readdirSync(folder.to)).toEqual(['m'])
  })
