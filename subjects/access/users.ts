import { Type } from 'typebox'
import { resource } from '../kit/contract.ts'
import { EffectiveCapabilities, VisibleExtensions } from './keys.ts'
import { maxRoles } from './roles.ts'
import { Group, list, model, Name, page, strict, Subject, Text, Timestamp } from '../kit/schemas.ts'

/** Groups of one person; directories with nested groups name hundreds. */
export const maxGroups = 1_000

export const User = model('User', {
  subject: Subject('Subject, as the identity provider says; with a prefix when somebody else does'),
  name: Type.Optional(Text('Name to show')),
  email: Type.Optional(Text('Address of mail')),
  groups: Type.Array(Group('Group'), { maxItems: maxGroups, description: 'Groups at the last sign-in' }),
  roles: list(Name('Role'), maxRoles),
  permissions: EffectiveCapabilities,
  visible_extensions: VisibleExtensions,
  lastLogin: Type.Optional(Timestamp('When the roles were resolved')),
})
export type User = Type.Static<typeof User>

/** People who have signed in, as they were then. */
export const users = resource('users', {
  list: {
    summary: 'Everybody who has signed in',
    input: strict(page),
    output: list(User),
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/admin/users' }],
    cli: { columns: ['subject', 'name', 'groups', 'roles', 'lastLogin'] },
  },
  get: {
    summary: 'One person who has signed in',
    input: strict({ subject: Subject('Subject of the person') }),
    output: User,
    errors: ['NOT_FOUND'],
    http: [{ method: 'GET', path: '/api/v1/admin/users/{subject}' }],
    cli: { args: ['subject'] },
  },
  self: {
    summary: 'The person whose key asks',
    input: strict({}),
    output: User,
    errors: ['NOT_FOUND'],
    http: [{ method: 'GET', path: '/api/v1/userinfo' }],
  },
})
