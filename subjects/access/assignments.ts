import { type Static, Type } from 'typebox'
import { resource } from '../kit/contract.ts'
import { maxRoles } from './roles.ts'
import { Group, list, model, Name, Nothing, page, strict, Subject } from '../kit/schemas.ts'

export const Assignment = model('Assignment', {
  group: Group('Group name, exactly as in the identity provider or directory'),
  roles: list(Name('Role'), maxRoles),
})
export type Assignment = Static<typeof Assignment>

const byGroup = '/api/v1/admin/assignments/{group}'

/** Which roles a group gives to its members, at their next sign-in. */
export const assignments = resource('assignments', {
  list: {
    summary: 'List the roles of all groups',
    input: strict(page),
    output: list(Assignment),
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/admin/assignments' }],
    cli: { columns: ['group', 'roles'] },
  },
  configured: {
    summary: 'Show who is an administrator by the configuration',
    description:
      'Fields of gantry.config that give roles to users independently of their groups’ assignments. They can be changed only there.',
    input: strict({}),
    output: model('ConfiguredRoles', {
      everybody: Type.Boolean({
        description:
          'Whether everybody who signs in is an administrator, because neither an administrator nor a group of administrators is set',
      }),
      adminSubject: Type.Optional(Subject('Subject of the administrator (admin_subject)')),
      adminGroup: Type.Optional(Group('Group whose members are administrators (admin_group)')),
      defaultRole: Type.Optional(Name('Role of all users (rbac.default_role)')),
    }),
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/admin/configured-roles' }],
  },
  put: {
    summary: 'Set the roles of a group',
    description:
      'Replaces the current roles of the group. Members get the new roles at their next sign-in. Both the new and the current roles must be within your own permissions.',
    input: Assignment,
    output: Assignment,
    errors: ['EXCEEDS_ROLE', 'NOT_FOUND'],
    audit: { object: 'group', details: ['roles'] },
    lasting: true,
    http: [{ method: 'PUT', path: byGroup }],
    cli: { args: ['group'], example: 'gantry assignments put analysts --roles viewer' },
  },
  delete: {
    summary: 'Remove all roles from a group',
    description: 'The roles must be within your own permissions.',
    input: strict({ group: Group('Group name') }),
    output: Nothing,
    errors: ['EXCEEDS_ROLE', 'NOT_FOUND'],
    audit: { object: 'group' },
    lasting: true,
    http: [{ method: 'DELETE', path: byGroup }],
    cli: { args: ['group'] },
  },
})
