import type { FilesystemSpec } from '../../subjects/filesystem-kinds.ts'
import type { Driver } from './driver.ts'
import { LocalDriver } from './local.ts'

/** What a filesystem is opened for: only a target may be given rights that its modes deny (`local-rights.ts`). */
export type Side = 'source' | 'target'

/**
 * The driver of a filesystem. No I/O yet: `probe` finds out whether the store is there.
 * Rejects with a GantryError INVALID_INPUT when an option is not one that the kind honours.
 * What speaks to Azure is loaded with the first such filesystem: most hosts and threads have none.
 */
export async function openDriver(spec: FilesystemSpec, side: Side = 'source'): Promise<Driver> {
  switch (spec.kind) {
    case 'local':
      return new LocalDriver(spec.options, side === 'target')
    case 'adls2-shared-key': {
      const { Adls2Driver } = await import('./adls2.ts')
      return new Adls2Driver(spec.options)
    }
  }
}

export * from './driver.ts'
