import type { Owned, Owners } from '../../../../broker/rpc/owners.ts'
import type { Collection } from '../../../../broker/state/collection.ts'
import type { Handlers } from '../../../../subjects/kit/contract.ts'
import { GantryError, notAccepted } from '../../../../subjects/kit/errors.ts'
import { product } from '../../../../subjects/kit/names.ts'
import { shellArgument } from '../../../../subjects/kit/shell-word.ts'
import {
  maxPathMappings,
  type PathMapping,
} from '../../../../subjects/migrations/model/path-mapping-model.ts'
import type { pathMappings as pathMappingContracts } from '../../../../subjects/rules/path-mappings.ts'
import { maxPageLength } from '../../../../subjects/kit/schemas.ts'
import { pathFromText, textFromPath } from '../../../drivers/paths/path-text.ts'
import { onlySource, type PlaceDependencies, requirePlaces } from '../../places/places.ts'
import type { MigrationRecord } from '../../lifecycle/record.ts'
import { collide, overlapping } from './conflicts.ts'
import { applicable, type Moved } from './frozen.ts'
import { type Mappings, publicMapping, type StoredMapping } from './record.ts'

type Asked = Pick<MigrationRecord, 'migrationId'> & Pick<Moved, 'path' | 'source' | 'target'>

/** What would lead a migration, and the other migrations that it would collide with. */
function checkMappings(
  mappings: readonly StoredMapping[],
  others: readonly MigrationRecord[],
  { migrationId, ...asked }: Asked,
): { pathMappings: PathMapping[]; conflicting: string[] } {
  const pathMappings = applicable(mappings.map(publicMapping), asked)
  const conflicting = others
    .filter((other) => other.migrationId !== migrationId && collide({ ...asked, pathMappings }, other))
    .map((other) => other.migrationId)
    .slice(0, maxPageLength)
  return { pathMappings, conflicting }
}

/**
 * The mappings that a migration takes over when it is made, or reset with them.
 * @throws GantryError ALREADY_EXISTS when another migration writes to the same place from elsewhere, NOT_ACCEPTED for more
 *   than a migration can have
 */
export function mappingsOfNew(
  mappings: readonly StoredMapping[],
  others: readonly MigrationRecord[],
  asked: Asked,
): PathMapping[] {
  const { pathMappings, conflicting } = checkMappings(mappings, others, asked)
  if (pathMappings.length > maxPathMappings) {
    throw notAccepted('path', `has ${pathMappings.length} path mappings; the maximum is ${maxPathMappings}`)
  }
  const [first, ...more] = conflicting
  if (first === undefined) return pathMappings
  throw new GantryError(
    'ALREADY_EXISTS',
    `with these path mappings it would write to the same paths of ${asked.target} as ${conflicting.join(', ')}: choose another path at the target, or delete ${more.length === 0 ? 'that migration' : 'those migrations'} first with "${product} migrations delete ${shellArgument(first)}", which leaves the files that were copied`,
    { details: { conflictingMigrationIds: conflicting } },
  )
}

/** What the handlers of path mappings work with. */
export interface MappingDependencies extends PlaceDependencies {
  readonly records: Collection<typeof MigrationRecord>
  readonly mappings: Mappings
  readonly owners: Owners
}

export function mappingHandlers(dependencies: MappingDependencies): Handlers<typeof pathMappingContracts> {
  const { records, mappings, owners } = dependencies
  const owned: Owned = {
    limit: 'maxMappings',
    what: 'path mappings',
    fix: `delete some with "${product} path-mappings delete"`,
    count: (owner) => mappings.sizeOfGroup(owner),
  }
  return {
    create: async (input, { caller }) => {
      const { pathMappingId: id = `mapping-${crypto.randomUUID().slice(0, 8)}`, description = '' } = input
      const { sourceFileSystem, targetFileSystem } = input
      await requirePlaces(dependencies, sourceFileSystem, targetFileSystem)
      const mapping: PathMapping = {
        id,
        description,
        sourceFileSystem,
        sourcePath: textFromPath(pathFromText(input.sourcePath, 'sourcePath')),
        targetFileSystem,
        targetPath: textFromPath(pathFromText(input.targetPath, 'targetPath')),
      }
      const other = overlapping(await mappings.all(), mapping)
      if (other !== undefined && other.id !== id) {
        throw new GantryError(
          'ALREADY_EXISTS',
          `${other.id} already maps ${other.sourcePath} of ${other.sourceFileSystem} to ${other.targetPath} of ${other.targetFileSystem}`,
          { details: { pathMappingId: other.id } },
        )
      }
      await owners.make(await owners.allowanceOf(caller), owned, (owner) =>
        mappings.create(id, { ...mapping, ...(owner === undefined ? {} : { owner }) }),
      )
      return mapping
    },
    list: async ({
      sourceFileSystemName: source,
      targetFileSystemName: target,
      limit = maxPageLength,
      after,
    }) => {
      const page = await mappings.list({
        after,
        limit,
        where: ({ sourceFileSystem, targetFileSystem }) =>
          (source === undefined || sourceFileSystem === source) &&
          (target === undefined || targetFileSystem === target),
      })
      return page.map(publicMapping)
    },
    get: async ({ pathMappingId }) => {
      const mapping = await mappings.get(pathMappingId)
      if (mapping === undefined)
        throw new GantryError('NOT_FOUND', `there is no path mapping ${pathMappingId}`)
      return publicMapping(mapping)
    },
    delete: async ({ pathMappingId }) => {
      await mappings.delete(pathMappingId)
      return {}
    },
    'check-migration': async ({ migrationId, path, target, ...input }) => {
      const source = input.source ?? (await onlySource(dependencies))
      await requirePlaces(dependencies, source, target)
      const asked = { migrationId, path: textFromPath(pathFromText(path)), source, target }
      const [known, others] = await Promise.all([mappings.all(), records.all()])
      const { pathMappings, conflicting } = checkMappings(known, others, asked)
      return { mappings: pathMappings.slice(0, maxPathMappings), conflictingMigrationIds: conflicting }
    },
  }
}
