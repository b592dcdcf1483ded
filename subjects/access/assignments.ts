import type { Static } from 'typebox'
import { resource } from '../kit/contract.ts'
import { maxRoles } from './roles.ts'
import { Group, list, model, Name, Nothing, page, strict } from '../kit/schemas.ts'

export const Assignment = model('Assignment', {
  group: Group('Group, exactly as the identity provider or directory names it'),
  roles: list(Name('Role'), maxRoles),
})
export type Assignment = Static<typeof Assignment>

const byGroup = '/api/v1/admin/assignments/{group}'

/** Which roles a group gives to its members, at their next sign-in. */
export const assignments = resource('assignments', {
  list: {
    summary: 'The roles of all groups',
    input: strict(page),
    output: list(Assignment),
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/admin/assignments' }],
    cli: { columns: ['group', 'roles'] },
  },
  put: {
    summary: 'Give roles to a group, instead of those that it has',
    description:
      'Members have them from their next sign-in on. The roles, and those that the group has now, must be within the permissions of the key that asks.',
    input: Assignment,
    output: Assignment,
    errors: ['EXCEEDS_ROLE', 'NOT_FOUND'],
    audit: { object: 'group' },
    lasting: true,
    http: [{ method: 'PUT', path: byGroup }],
    cli: { args: ['group'], example: 'gantry assignments put analysts --roles viewer' },
  },
  delete: {
    summary: 'Take all roles from a group',
    description: 'The roles must be within the permissions of the key that asks.',
    input: strict({ group: Group('Group') }),
    output: Nothing,
    errors: ['EXCEEDS_ROLE', 'NOT_FOUND'],
    audit: { object: 'group' },
    lasting: true,
    http: [{ method: 'DELETE', path: byGroup }],
    cli: { args: ['group'] },
  },
})
