import type { FilesystemSpec } from '../../../subjects/filesystems/kinds.ts'
import { type DoubleOptions, ObjectStoreDoubleDriver } from './driver.ts'

/** The kind of the double, as threads load it (`addKinds`). */
export default {
  kind: 'object-store-double',
  defaults: {},
  exclusions: [],
  restrictions: [],
  open: async (options: DoubleOptions) => new ObjectStoreDoubleDriver(options),
}

/** A bucket of a double as a filesystem, which no configuration can have. */
export const doubleSpec = (options: DoubleOptions): FilesystemSpec =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the list of kinds does not have it
  ({ kind: 'object-store-double', options }) as unknown as FilesystemSpec
