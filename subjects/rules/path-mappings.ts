import { Type } from 'typebox'
import { resource } from '../kit/contract.ts'
import { migrationId } from '../migrations/model/model.ts'
import { maxPathMappings, PathMapping } from '../migrations/model/path-mapping-model.ts'
import { GivenPath, list, model, Name, Nothing, page, strict, Text } from '../kit/schemas.ts'

const pathMappingId = Name('Path mapping name')
const byId = strict({ pathMappingId })
const { sourceFileSystem, sourcePath, targetFileSystem, targetPath } = PathMapping.properties

/** What a migration of a path would be led by, and which migrations would write to the same places from elsewhere. */
const CheckResult = model('MigrationMappingCheckResult', {
  mappings: list(PathMapping, maxPathMappings),
  conflictingMigrationIds: list(migrationId),
})

export const pathMappings = resource('path-mappings', {
  create: {
    summary: 'Map a source folder to a different path at a target',
    description:
      'Applies to migrations that are created or reset afterwards. Refused if another mapping maps to the same target path.',
    input: strict({
      pathMappingId: Type.Optional(Name('Path mapping name (generated if omitted)')),
      description: Type.Optional(Text('Purpose of the mapping')),
      sourceFileSystem,
      sourcePath,
      targetFileSystem,
      targetPath,
    }),
    output: PathMapping,
    errors: ['ALREADY_EXISTS', 'LIMIT_REACHED', 'NOT_FOUND'],
    audit: { object: 'id' },
    http: [{ method: 'POST', path: '/api/v1/path-mappings', status: 201 }],
    cli: {
      example:
        'gantry path-mappings create --source-file-system here --source-path /data --target-file-system there --target-path /archive/data',
    },
  },
  list: {
    summary: 'List path mappings',
    input: strict({
      sourceFileSystemName: Type.Optional(Name('Return only mappings of this source')),
      targetFileSystemName: Type.Optional(Name('Return only mappings of this target')),
      ...page,
    }),
    output: list(PathMapping),
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/path-mappings' }],
    cli: { columns: ['id', 'sourceFileSystem', 'sourcePath', 'targetFileSystem', 'targetPath'] },
  },
  get: {
    summary: 'Show a path mapping',
    input: byId,
    output: PathMapping,
    errors: ['NOT_FOUND'],
    http: [{ method: 'GET', path: '/api/v1/path-mappings/{pathMappingId}' }],
    cli: { args: ['pathMappingId'] },
  },
  delete: {
    summary: 'Delete a path mapping; existing migrations keep it',
    input: byId,
    output: Nothing,
    errors: ['NOT_FOUND'],
    audit: { object: 'pathMappingId' },
    http: [{ method: 'DELETE', path: '/api/v1/path-mappings/{pathMappingId}' }],
    cli: { args: ['pathMappingId'] },
  },
  'check-migration': {
    summary: 'Show path mappings that apply to a migration, and migrations that conflict with it',
    input: strict({
      migrationId,
      path: GivenPath('Folder to migrate'),
      source: Type.Optional(Name('Source filesystem; may be omitted if there is only one')),
      target: Name('Target filesystem'),
    }),
    output: CheckResult,
    errors: ['NOT_FOUND'],
    audit: { object: 'migrationId' },
    http: [{ method: 'POST', path: '/api/v1/migrations/{migrationId}/check-path-mappings' }],
    cli: {
      args: ['migrationId'],
      example: 'gantry path-mappings check-migration nightly --path /data --source here --target there',
    },
  },
})
