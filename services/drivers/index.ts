import type { FilesystemSpec } from '../../subjects/filesystem-kinds.ts'
import { Adls2Driver } from './adls2.ts'
import type { Driver } from './driver.ts'
import { LocalDriver } from './local.ts'

/**
 * The driver of a filesystem. No I/O yet: `probe` finds out whether the store is there.
 * Throws a GantryError INVALID_INPUT when an option is not one that the kind honours.
 */
export function openDriver(spec: FilesystemSpec): Driver {
  switch (spec.kind) {
    case 'local':
      return new LocalDriver(spec.options)
    case 'adls2-shared-key':
      return new Adls2Driver(spec.options)
  }
}

export * from './driver.ts'
