import { Type } from 'typebox'
import { resource } from '../kit/contract.ts'
import { EffectiveCapabilities, VisibleExtensions } from './keys.ts'
import { maxRoles } from './roles.ts'
import { Group, list, model, Name, page, strict, Subject, Text, Timestamp } from '../kit/schemas.ts'

/** Groups of one person; directories with nested groups name hundreds. */
export const maxGroups = 1_000

export const User = model('User', {
  subject: Subject(
    'Subject from the identity provider; with a prefix if it comes from another identity source',
  ),
  name: Type.Optional(Text('Display name')),
  email: Type.Optional(Text('Email address')),
  groups: Type.Array(Group('Group'), { maxItems: maxGroups, description: 'Groups at the last sign-in' }),
  roles: list(Name('Role'), maxRoles),
  permissions: EffectiveCapabilities,
  visible_extensions: VisibleExtensions,
  lastLogin: Type.Optional(Timestamp('Time when the roles were resolved')),
})
export type User = Type.Static<typeof User>

/** People who have signed in, as they were then. */
export const users = resource('users', {
  list: {
    summary: 'List all users who have signed in',
    input: strict(page),
    output: list(User),
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/admin/users' }],
    cli: { columns: ['subject', 'name', 'groups', 'roles', 'lastLogin'] },
  },
  get: {
    summary: 'Show a user who has signed in',
    input: strict({ subject: Subject('Subject of the user') }),
    output: User,
    errors: ['NOT_FOUND'],
    http: [{ method: 'GET', path: '/api/v1/admin/users/{subject}' }],
    cli: { args: ['subject'] },
  },
  self: {
    summary: 'Show the user that owns your key',
    input: strict({}),
    output: User,
    errors: ['NOT_FOUND'],
    http: [{ method: 'GET', path: '/api/v1/userinfo' }],
  },
})
