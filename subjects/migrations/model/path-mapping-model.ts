import type { Static } from 'typebox'
import { GivenPath, model, Name, Text } from '../../kit/schemas.ts'

/** Where a folder of a source goes to at a target. */
export const PathMapping = model('PathMapping', {
  id: Name('Name of the path mapping'),
  description: Text('Purpose of the path mapping'),
  sourceFileSystem: Name('Source filesystem'),
  sourcePath: GivenPath('Folder in the source'),
  targetFileSystem: Name('Target filesystem'),
  targetPath: GivenPath('Folder at the target'),
})
export type PathMapping = Static<typeof PathMapping>

/** Path mappings of one migration: a scan asks each of them for every folder. */
export const maxPathMappings = 100
