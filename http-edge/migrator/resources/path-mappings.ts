import { pathMappings } from '../../../subjects/rules/path-mappings.ts'
import { operation } from '../operation.ts'

const path = '/transformations/mappings'
const errors = {
  NOT_FOUND: { errorCode: 'PATH_MAPPING_NOT_FOUND' },
  ALREADY_EXISTS: { errorCode: 'PATH_MAPPING_OVERLAP_CONFLICT' },
} as const

export const pathMappingOperations = [
  operation(pathMappings.list, 'GET', path),
  operation(pathMappings.create, 'PUT', path, {
    query: 'all',
    status: 201,
    errors: { ...errors, NOT_FOUND: { errorCode: 'FILE_SYSTEM_NOT_FOUND' } },
  }),
  operation(pathMappings.get, 'GET', `${path}/{pathMappingId}`, { errors }),
  operation(pathMappings.delete, 'DELETE', `${path}/{pathMappingId}`, { errors }),
  operation(pathMappings['check-migration'], 'POST', '/migrations/{migrationId}/checkMigrationPathMappings', {
    query: 'all',
  }),
]
