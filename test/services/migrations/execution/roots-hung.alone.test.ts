import { renameSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { Roots, SourceChanged } from '../../../../services/migrations/execution/roots.ts'
import type * as Places from '../../../../services/drivers/local/place/places.ts'
import { createFolder } from '../../../support/migrations.ts'
import { until } from '../../../support/until.ts'
import { localSpec } from '../../engine/local-spec.ts'

const target = vi.hoisted(() => ({ hangs: false, looks: 0 }))
vi.mock('../../../../services/drivers/local/place/places.ts', async (importOriginal) => {
  const real = await importOriginal<typeof Places>()
  return {
    placesBelow: (...args: Parameters<typeof real.placesBelow>) => {
      const places = real.placesBelow(...args)
      const asTarget = () => {
        const place = places.asTarget()
        const look = place.look.bind(place)
        return Object.assign(place, {
          look: () => {
            target.looks++
            return target.hangs ? Promise.withResolvers().promise : look()
          },
        })
      }
      return { ...places, asTarget }
    },
  }
})

test('a target that hangs keeps nobody from seeing that the source is another one', async () => {
  using folder = createFolder('from', 'to')
  const reasons: unknown[] = []
  using _roots = await Roots.watch(localSpec(folder), {}, { isRootReplaced: false }, (reason) =>
    reasons.push(reason),
  )
  target.hangs = true
  const before = target.looks
  await until('the target is looked at, and hangs', () => target.looks > before)
  renameSync(folder.from, join(folder.root, 'away'))
  await until('the source is missed', () => reasons[0])
  expect(reasons[0]).toBeInstanceOf(SourceChanged)
})
