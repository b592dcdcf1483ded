import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createBounds } from '../../../../services/drivers/contract/bounds.ts'
import { Roots, SourceChanged, sourceIdentityNow } from '../../../../services/migrations/execution/roots.ts'
import { packRules } from '../../../../services/engine/run/rules.ts'
import { LocalDriver } from '../../../../services/drivers/local/local.ts'
import { sourcePlace } from '../../../../services/engine/run/places.ts'
import { createFolder } from '../../../support/migrations.ts'
import { mountMemory, mountAgain, whyNoMount } from '../../../support/mounts.ts'
import { silentEndpoint } from '../../../support/silent-endpoint.ts'
import { testUnless } from '../../../support/unless.ts'
import { until } from '../../../support/until.ts'
import { localSpec } from '../../engine/local-spec.ts'

test('work that began before its source was there begins anew once it is: nothing else knows the source again', async () => {
  using folder = createFolder('to')
  const spec = localSpec({ from: join(folder.root, 'from'), to: folder.to })
  const reasons: unknown[] = []
  const watch = () => Roots.watch(spec, {}, { isRootReplaced: false }, (reason) => reasons.push(reason))
  {
    using roots = await watch()
    expect([roots.spec.sourceMark, roots.identities.sourceIdentity]).toEqual([undefined, undefined])
    mkdirSync(join(folder.root, 'from'))
    await until('the work is ended', () => reasons.length > 0)
    expect(reasons[0]).toMatchObject({ code: 'STORE_UNREACHABLE' })
  }
  using again = await watch()
  expect(again.spec.sourceMark).toBeDefined()
  expect(again.identities.sourceIdentity).toBeDefined()
})

test('a source that is gone is told from one that was replaced: that one alone can be accepted', async () => {
  using folder = createFolder('from', 'to')
  const spec = localSpec({ from: folder.from, to: folder.to })
  using roots = await Roots.watch(spec, {}, { isRootReplaced: false }, () => undefined)
  const told = async () => {
    const error = await roots.check().catch((reason: unknown) => reason)
    return error instanceof SourceChanged ? error.told : error
  }
  renameSync(folder.from, `${folder.from}-away`)
  expect(await told()).toEqual({ difference: expect.stringMatching(/ does not exist$/), isGone: true })
  mkdirSync(folder.from)
  expect(await told()).toEqual({ difference: expect.stringContaining('is a different folder') })
})

testUnless(
  whyNoMount(),
  'a volume that is mounted where a rule leaves it out may come and go; the same one anywhere else may not',
  async () => {
    using folder = createFolder('from', 'to')
    using content = mountMemory(1024 * 1024)
    writeFileSync(join(content.path, 'file'), 'x')
    for (const path of ['cache/volume', 'data']) mkdirSync(join(folder.from, path), { recursive: true })
    const rules = packRules({
      exclusions: [{ id: 'cache', type: 'regex', patternType: 'GLOB', regex: '/cache' }],
      inclusions: [],
    })
    const spec = localSpec({ from: folder.from, to: folder.to }, rules === undefined ? {} : { rules })
    const watch = (identities = {}) =>
      Roots.watch(spec, identities, { isRootReplaced: false }, () => undefined)
    const excluded = join(folder.from, 'cache/volume')
    using place = new DisposableStack()
    place.use(mountAgain(content.path, excluded))
    using data = new DisposableStack()
    data.use(mountAgain(content.path, join(folder.from, 'data')))
    using roots = await watch()
    expect(roots.identities.sourceIdentity?.mounts.map(({ path }) => path)).toEqual(['/data'])
    place.dispose()
    await roots.check()
    const require = () =>
      sourcePlace(new LocalDriver({ fsRoot: folder.from }), spec)?.require(roots.spec.sourceMark!)
    require()
    // One that was noted before there was a rule is not missed.
    const { sourceIdentity } = roots.identities
    const mounts = [
      ...(sourceIdentity?.mounts ?? []),
      { path: '/cache/volume', is: { type: 'tmpfs', inode: '1' } },
    ]
    using again = await watch({ sourceIdentity: { root: sourceIdentity?.root, mounts } })
    await again.check()
    data.dispose()
    await expect(again.check()).rejects.toThrow(SourceChanged)
    expect(require).toThrow('its folder, or what is mounted below it')
  },
)

test('the identity of a store is asked only where stores may be', async () => {
  await using endpoint = await silentEndpoint()
  const spec = { source: endpoint.spec, root: Buffer.alloc(0) }
  await expect(sourceIdentityNow(spec, {}, createBounds([]))).rejects.toMatchObject({
    message: expect.stringContaining('127.0.0.1'),
  })
  expect(endpoint.connections()).toBe(0)
})
