import { Type } from 'typebox'
import { resource } from '../kit/contract.ts'
import { migrationId } from '../migrations/model/model.ts'
import { maxPathMappings, PathMapping } from '../migrations/model/path-mapping-model.ts'
import { GivenPath, list, model, Name, Nothing, page, strict, Text } from '../kit/schemas.ts'

const pathMappingId = Name('Name of the path mapping')
const byId = strict({ pathMappingId })
const { sourceFileSystem, sourcePath, targetFileSystem, targetPath } = PathMapping.properties

/** What a migration of a path would be led by, and which migrations would write to the same places from elsewhere. */
const CheckResult = model('MigrationMappingCheckResult', {
  mappings: list(PathMapping, maxPathMappings),
  conflictingMigrationIds: list(migrationId),
})

export const pathMappings = resource('path-mappings', {
  create: {
    summary: 'Lead a folder of a source elsewhere at a target',
    description:
      'For migrations that are created or reset with it from then on. Refused where another mapping leads to the same place.',
    input: strict({
      pathMappingId: Type.Optional(Name('Name of the path mapping; default: a generated one')),
      description: Type.Optional(Text('What it is for')),
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
    summary: 'All path mappings',
    input: strict({
      sourceFileSystemName: Type.Optional(Name('Only those of this source')),
      targetFileSystemName: Type.Optional(Name('Only those of this target')),
      ...page,
    }),
    output: list(PathMapping),
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/path-mappings' }],
    cli: { columns: ['id', 'sourceFileSystem', 'sourcePath', 'targetFileSystem', 'targetPath'] },
  },
  get: {
    summary: 'One path mapping',
    input: byId,
    output: PathMapping,
    errors: ['NOT_FOUND'],
    http: [{ method: 'GET', path: '/api/v1/path-mappings/{pathMappingId}' }],
    cli: { args: ['pathMappingId'] },
  },
  delete: {
    summary: 'Forget a path mapping; migrations that there are keep it',
    input: byId,
    output: Nothing,
    errors: ['NOT_FOUND'],
    audit: { object: 'pathMappingId' },
    http: [{ method: 'DELETE', path: '/api/v1/path-mappings/{pathMappingId}' }],
    cli: { args: ['pathMappingId'] },
  },
  'check-migration': {
    summary: 'Which path mappings a migration would have, and which migrations it would collide with',
    input: strict({
      migrationId,
      path: GivenPath('Folder to migrate'),
      source: Type.Optional(Name('Source filesystem; default: the only one there is')),
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
