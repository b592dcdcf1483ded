import { GantryError, isGantryError, notAccepted } from '../../../subjects/kit/errors.ts'
import { product } from '../../../subjects/kit/names.ts'
import { shellArgument } from '../../../subjects/kit/shell-word.ts'
import { asInOrder } from './as-in-order.ts'
import type { Location } from '../../drivers/contract/driver.ts'
import type { FilesystemKind } from '../../../subjects/filesystems/kinds.ts'
import type { MigrationRecord } from '../lifecycle/record.ts'

/** What a migration needs to know of a filesystem. */
export interface Place {
  readonly fileSystemId: string
  readonly isSource: boolean
  readonly isScanOnly: boolean
  readonly kind: FilesystemKind
}

export interface PlaceDependencies {
  /** @throws GantryError NOT_FOUND */
  readonly place: (fileSystemId: string) => Promise<Place>
  /** Names of all sources. */
  readonly sources: () => Promise<string[]>
  /** @throws GantryError NOT_FOUND when there is no such folder, STORE_REFUSED, STORE_UNREACHABLE */
  readonly requireFolder: (fileSystemId: string, path: string) => Promise<void>
  /** Where a path of a filesystem is, whatever leads to it and whatever the filesystem is called. */
  readonly locate: (fileSystemId: string, path: string) => Promise<Location>
  /** Whether what is in a filesystem can be given another path there, without being copied. */
  readonly canRename: (fileSystemId: string) => Promise<boolean>
}

/** The source when there is just one. @throws GantryError NOT_ACCEPTED */
export async function onlySource({ sources }: PlaceDependencies): Promise<string> {
  const [only, ...others] = await sources()
  if (only !== undefined && others.length === 0) return only
  const problem =
    only === undefined
      ? 'is required; add a source filesystem first'
      : `is required; choose one of ${[only, ...others].join(', ')}`
  throw notAccepted('source', problem)
}

const seeList = `see "${product} filesystems list"`

/** The source, if both are there and what they are asked to be. @throws GantryError NOT_FOUND */
export async function requirePlaces(
  { place }: PlaceDependencies,
  source: string,
  target: string,
): Promise<Place> {
  const known = (field: 'source' | 'target', fileSystemId: string) =>
    place(fileSystemId).catch((error: unknown) => {
      if (!isGantryError(error, 'NOT_FOUND')) throw error
      const problem = `there is no filesystem ${fileSystemId}: ${seeList}`
      throw new GantryError('NOT_FOUND', `${field}: ${problem}`)
    })
  const [from, to] = await asInOrder([known('source', source), known('target', target)])
  if (!from.isSource)
    throw new GantryError('NOT_FOUND', `source: ${source} is a target; no source has this name: ${seeList}`)
  if (to.isSource)
    throw new GantryError('NOT_FOUND', `target: ${target} is a source; no target has this name: ${seeList}`)
  return from
}

type Asked = Pick<MigrationRecord, 'migrationId' | 'path' | 'source' | 'target'>

/** @throws GantryError ALREADY_EXISTS for a name that is taken, and for a path that is migrated between these two already */
export function requireUnique(others: readonly Asked[], asked: Asked): void {
  for (const other of others) {
    if (other.migrationId === asked.migrationId) {
      throw new GantryError('ALREADY_EXISTS', `migration ${asked.migrationId} already exists`)
    }
    const samePlaces = other.source === asked.source && other.target === asked.target
    if (samePlaces && other.path === asked.path) {
      throw new GantryError(
        'ALREADY_EXISTS',
        `migration ${other.migrationId} already copies ${asked.path} to ${asked.target}: use it, delete it with "${product} migrations delete ${shellArgument(other.migrationId)}", or choose another path`,
      )
    }
  }
}
