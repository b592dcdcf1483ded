import type { FilesystemSpec } from '../../subjects/filesystems/kinds.ts'
import type { StoreBounds } from './contract/bounds.ts'
import type { Driver } from './contract/driver.ts'
import { LocalDriver } from './local/local.ts'

/** What a filesystem is opened for: only a target may be given rights that its modes deny (`local-rights.ts`). */
export type Side = 'source' | 'target'

/**
 * The driver of a filesystem. `probe` finds out whether the store is there.
 * Rejects with a GantryError INVALID_INPUT when an option is not one that the kind honours, or the store is not where
 * filesystems may be.
 * What speaks to Azure is loaded with the first such filesystem: most hosts and threads have none.
 * @param bounds where filesystems may be; without them nothing is looked at, for who only asks a driver what it is
 */
export async function openDriver(
  spec: FilesystemSpec,
  side: Side = 'source',
  bounds?: StoreBounds,
): Promise<Driver> {
  switch (spec.kind) {
    case 'local': {
      const driver = new LocalDriver(spec.options, side === 'target', undefined, bounds)
      driver.requirePlace()
      return driver
    }
    case 'adls2-shared-key': {
      const { Adls2Driver } = await import('./adls2/adls2.ts')
      const driver = new Adls2Driver(spec.options, bounds)
      driver.requirePlace()
      return driver
    }
  }
}

export * from './contract/driver.ts'
