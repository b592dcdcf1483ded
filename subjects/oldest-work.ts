import { Type } from 'typebox'
import { Count, model, Name, Path, Timestamp } from './schemas.ts'

const itemTypes = ['SCHEDULED_EVENT', 'RESCAN_REGION', 'NONE'] as const

export const OldestIncompleteWorkItem = model('OldestIncompleteWorkItem', {
  migrationId: Name('Name of the migration'),
  itemType: Type.Enum(itemTypes, { description: 'Files to copy, a folder to scan, or nothing' }),
  operation: Type.Optional(Type.Enum(['MIGRATION', 'RESCAN'])),
  path: Type.Optional(Path('The first path of it, in the source')),
  ldmActionCreationTimeStamp: Type.Optional(Count('When it came into the queue, in milliseconds since 1970')),
  ldmActionCreationDate: Type.Optional(Timestamp('The same as text')),
})
