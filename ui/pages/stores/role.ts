import { fieldsOfOtherRole, type Filesystem } from '../../../subjects/filesystems/filesystems.ts'
import type { Values } from '../../kit/schema-fields.tsx'

export const roleOf = ({ isSource }: Filesystem) => (isSource ? 'source' : 'target')

/** Fields that are not for the role that was chosen; until one is, those that only one of them has. */
export const foreignFields = ({ role }: Values): readonly string[] =>
  role === 'source' || role === 'target'
    ? fieldsOfOtherRole[role]
    : [...fieldsOfOtherRole.source, ...fieldsOfOtherRole.target]
