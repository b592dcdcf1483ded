import { Type } from 'typebox'
import { resource } from './contract.ts'
import { form } from './forms.ts'
import { list, model, Name, Nothing, page, strict, SubjectPattern, Text, Timestamp } from './schemas.ts'

/** More rules than a person can review. */
const maxRules = 200

const Rules = Type.Object({ allow: list(SubjectPattern, maxRules) }, { additionalProperties: false })

/** What a key may publish and subscribe to. Its own inbox for replies comes with every key. */
export const Capabilities = model('Capabilities', { pub: Rules, sub: Rules })

const KeyId = Type.String({
  minLength: 2,
  maxLength: 40,
  ...form('^[a-z0-9]+$', 'the id of a key: small letters and digits'),
  description: 'Id of the key',
})

export const Key = model('Key', {
  id: KeyId,
  name: Name('Name of the key'),
  notes: Text('Free text'),
  owner: Type.String({ maxLength: 300, description: 'Subject of the user whose key this is' }),
  kind: Type.Enum(['key', 'session', 'agent']),
  roles: list(Name('Role'), 100),
  created: Timestamp('When it was made'),
  expires: Type.Optional(Timestamp('When it stops being valid')),
  lastUsed: Type.Optional(Timestamp('Last connection with it, to the minute')),
  revoked: Type.Optional(Timestamp('When it was revoked')),
  capabilities: Capabilities,
})
export type Key = Type.Static<typeof Key>

/** Longest life of a key, so that a forgotten one ends; a key without expiry is a decision of its owner. */
const maxExpiryDays = 3_650

export const keys = resource('keys', {
  create: {
    summary: 'Make an API key; its token is in this reply and never again',
    description: 'The capabilities must be within those of the key that asks.',
    input: strict({
      name: Name('Name of the key'),
      notes: Type.Optional(Text('Free text')),
      capabilities: Capabilities,
      expiresInDays: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: maxExpiryDays,
          description: 'Days until it expires; default never',
        }),
      ),
    }),
    output: strict({
      ...Key.properties,
      token: Type.String({ maxLength: 1_000, description: 'The API token' }),
    }),
    errors: ['EXCEEDS_ROLE'],
    http: [{ server: 'platform', method: 'POST', path: '/api/v1/keys', status: 201 }],
    cli: {
      args: ['name'],
      example:
        'gantry keys create reporting --capabilities \'{"pub":{"allow":["gantry.services.v1.migrations.list"]},"sub":{"allow":[]}}\'',
    },
  },
  list: {
    summary: 'Your API keys; an administrator sees all',
    input: strict(page),
    output: list(Key),
    errors: [],
    http: [{ server: 'platform', method: 'GET', path: '/api/v1/keys' }],
    cli: { columns: ['id', 'name', 'owner', 'kind', 'created', 'expires', 'lastUsed', 'revoked'] },
  },
  get: {
    summary: 'One API key',
    input: strict({ id: KeyId }),
    output: Key,
    errors: ['NOT_FOUND'],
    http: [{ server: 'platform', method: 'GET', path: '/api/v1/keys/{id}' }],
    cli: { args: ['id'] },
  },
  revoke: {
    summary: 'Revoke an API key and drop its connections',
    description:
      'The reply comes when the connections are gone. A key that may do more than yours cannot be revoked.',
    input: strict({ id: KeyId }),
    output: Key,
    errors: ['NOT_FOUND', 'EXCEEDS_ROLE'],
    http: [{ server: 'platform', method: 'DELETE', path: '/api/v1/keys/{id}' }],
    cli: { args: ['id'], example: 'gantry keys revoke k0123456789abc' },
  },
  self: {
    summary: 'The API key that owns the presented token',
    input: strict({}),
    output: Key,
    errors: ['NOT_FOUND'],
    http: [{ server: 'platform', method: 'GET', path: '/api/v1/apikey' }],
  },
})

export const Role = model('Role', {
  name: Name('Name of the role'),
  description: Text('What it is for'),
  pub: Rules,
  sub: Rules,
  visible_extensions: list(
    Type.String({ minLength: 1, maxLength: 100, description: 'Extension prefix, * for all' }),
    500,
  ),
})
export type Role = Type.Static<typeof Role>

export const roles = resource('roles', {
  own: {
    summary: 'Your roles and effective permissions',
    input: strict({}),
    output: strict({ roles: list(Name('Role'), 100), permissions: Capabilities }),
    errors: ['NOT_FOUND'],
    http: [{ server: 'platform', method: 'GET', path: '/api/v1/roles' }],
  },
  list: {
    summary: 'All roles',
    input: strict(page),
    output: list(Role),
    errors: [],
    http: [{ server: 'platform', method: 'GET', path: '/api/v1/admin/roles' }],
    cli: { columns: ['name', 'description'] },
  },
  put: {
    summary: 'Make a role, or replace it',
    description: 'Its rules must be within those of the key that asks. Built-in roles cannot be replaced.',
    input: Role,
    output: Role,
    errors: ['EXCEEDS_ROLE', 'NOT_ALLOWED_IN_STATE'],
    http: [{ server: 'platform', method: 'PUT', path: '/api/v1/admin/roles/{name}' }],
    cli: {
      args: ['name'],
      example:
        "gantry roles put readers --description 'May list migrations' --visible-extensions '*'" +
        ` --pub '{"allow":["gantry.services.v1.migrations.list"]}' --sub '{"allow":[]}'`,
    },
  },
  delete: {
    summary: 'Delete a role',
    input: strict({ name: Name('Name of the role') }),
    output: Nothing,
    errors: ['NOT_FOUND', 'NOT_ALLOWED_IN_STATE'],
    http: [{ server: 'platform', method: 'DELETE', path: '/api/v1/admin/roles/{name}' }],
    cli: { args: ['name'] },
  },
})

export const rbac = resource('rbac', {
  check: {
    summary: 'Whether a key may publish or subscribe to a subject, and by which rule',
    input: strict({
      action: Type.Enum(['publish', 'subscribe'], { description: 'What it would do' }),
      subject: SubjectPattern,
      keyId: Type.Optional(KeyId),
    }),
    output: strict({
      allowed: Type.Boolean(),
      rule: Type.Optional(SubjectPattern),
      explanation: Text('The decision in words'),
    }),
    errors: ['NOT_FOUND'],
    http: [{ server: 'platform', method: 'GET', path: '/api/v1/rbac/check' }],
    cli: {
      args: ['action', 'subject'],
      example: 'gantry rbac check publish gantry.services.v1.migrations.create',
    },
  },
})
