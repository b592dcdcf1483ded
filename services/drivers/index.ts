import type { FilesystemKind, FilesystemSpec } from '../../subjects/filesystems/kinds.ts'
import { adls2, adls2OAuth2, adls2Sas } from './adls2/index.ts'
import type { StoreBounds } from './contract/bounds.ts'
import type { Driver } from './contract/driver.ts'
import type { Side, StoreKind } from './contract/kind.ts'
import { gcs } from './gcs/index.ts'
import { hdfs } from './hdfs/index.ts'
import { local } from './local/index.ts'
import { s3a } from './s3a/index.ts'

export type { Side, StoreKind } from './contract/kind.ts'
export * from './contract/driver.ts'
export {
  isSameFolder,
  requireShareable,
  resolvedFolder,
  seenFolder,
  shareOf,
  type Witness,
} from './local/index.ts'

/** The kinds of filesystems. Nothing else names one. */
export const storeKinds: { readonly [K in FilesystemKind]: StoreKind<K> } = {
  local,
  'adls2-shared-key': adls2,
  'adls2-oauth2': adls2OAuth2,
  'adls2-sas': adls2Sas,
  s3a,
  hdfs,
  gcs,
}

/** By name: those of the list, and those that were added to this thread. */
const known = new Map<string, StoreKind>(Object.entries(storeKinds))

/** All kinds that this thread knows. */
export const knownKinds = (): Iterable<StoreKind> => known.values()

/**
 * Adds kinds that are not in the list, in this thread.
 * @param modules URLs of modules; each exports a kind as `default`
 */
export async function addKinds(modules: readonly string[]): Promise<void> {
  for (const module of modules) {
    const { default: kind } = (await import(module)) as { readonly default: StoreKind }
    known.set(kind.kind, kind)
  }
}

/**
 * The driver of a filesystem. `probe` finds out whether the store is there.
 * Rejects with a GantryError INVALID_INPUT when an option is not one that the kind honours, or the store is not where
 * filesystems may be.
 * @param bounds where filesystems may be; without them nothing is looked at, for who only asks a driver what it is
 */
export async function openDriver(
  { kind, options }: FilesystemSpec,
  side: Side = 'source',
  bounds?: StoreBounds,
): Promise<Driver> {
  return kindOf(kind).open(options, side, bounds)
}

/** URIs of the root of a filesystem, as `uris` of its kind. */
export const urisOf = ({ kind, options }: FilesystemSpec): readonly [string, ...string[]] =>
  kindOf(kind).uris(options)

function kindOf(kind: string): StoreKind {
  const its = known.get(kind)
  if (its === undefined) throw new Error(`there is no kind of filesystem ${kind}`)
  return its
}
