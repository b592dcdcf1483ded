import { Type } from 'typebox'
import { resource } from '../kit/contract.ts'
import { EffectiveCapabilities, KeyId, Rules, VisibleExtensions } from './keys.ts'
import { list, model, Name, Nothing, page, strict, SubjectPattern, Text } from '../kit/schemas.ts'

export const Role = model('Role', {
  name: Name('Role name'),
  description: Text('Purpose of the role'),
  pub: Rules,
  sub: Rules,
  visible_extensions: VisibleExtensions,
})
export type Role = Type.Static<typeof Role>

export const ListedRole = model('ListedRole', {
  ...Role.properties,
  builtIn: Type.Boolean({
    description: 'Whether the role is built in; built-in roles cannot be changed or deleted',
  }),
})
export type ListedRole = Type.Static<typeof ListedRole>

/** Roles of one person, of all groups together. */
export const maxRoles = 100

export const roles = resource('roles', {
  own: {
    summary: 'Show your roles and effective permissions',
    input: strict({}),
    output: strict({
      roles: list(Name('Role'), maxRoles),
      permissions: EffectiveCapabilities,
      visible_extensions: VisibleExtensions,
    }),
    errors: ['NOT_FOUND'],
    http: [{ method: 'GET', path: '/api/v1/roles' }],
  },
  list: {
    summary: 'List all roles',
    input: strict(page),
    output: list(ListedRole),
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/admin/roles' }],
    cli: { columns: ['name', 'description', 'builtIn'] },
  },
  put: {
    summary: 'Create or replace a role',
    description:
      'The permissions, visible extensions and limits of the role must be within those of your key. Built-in roles cannot be replaced.',
    input: Role,
    output: Role,
    errors: ['EXCEEDS_ROLE', 'NOT_ALLOWED_IN_STATE'],
    audit: { object: 'name', details: ['pub', 'sub', 'visible_extensions'] },
    lasting: true,
    http: [{ method: 'PUT', path: '/api/v1/admin/roles/{name}' }],
    cli: {
      args: ['name'],
      example:
        "gantry roles put readers --description 'May list migrations' --visible-extensions '*'" +
        ` --pub '{"allow":["gantry.services.v1.migrations.list"]}' --sub '{"allow":[]}'`,
    },
  },
  delete: {
    summary: 'Delete a role',
    input: strict({ name: Name('Role name') }),
    output: Nothing,
    errors: ['NOT_FOUND', 'NOT_ALLOWED_IN_STATE', 'EXCEEDS_ROLE'],
    audit: { object: 'name' },
    lasting: true,
    http: [{ method: 'DELETE', path: '/api/v1/admin/roles/{name}' }],
    cli: { args: ['name'] },
  },
})

export const rbac = resource('rbac', {
  check: {
    summary: 'Check whether a key may publish or subscribe to a subject, and by which rule',
    input: strict({
      action: Type.Enum(['publish', 'subscribe'], { description: 'Action to check' }),
      subject: SubjectPattern,
      keyId: Type.Optional(KeyId),
    }),
    output: strict({
      allowed: Type.Boolean(),
      rule: Type.Optional(SubjectPattern),
      explanation: Text('Explanation of the decision'),
    }),
    errors: ['NOT_FOUND'],
    http: [{ method: 'GET', path: '/api/v1/rbac/check' }],
    cli: {
      args: ['action', 'subject'],
      example: 'gantry rbac check publish gantry.services.v1.migrations.create',
    },
  },
})
