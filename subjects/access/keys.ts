import { Type } from 'typebox'
import { internalResource, resource } from '../kit/contract.ts'
import { form } from '../kit/forms.ts'
import { OwnerLimits } from './settings.ts'
import {
  list,
  model,
  Name,
  page,
  strict,
  Subject,
  SubjectPattern,
  Switch,
  Text,
  Timestamp,
} from '../kit/schemas.ts'

/** More rules than a person can review. */
const maxRules = 200

export const Rules = Type.Object({ allow: list(SubjectPattern, maxRules) }, { additionalProperties: false })

/** What a key may publish and subscribe to. Its own inbox, and that it may publish to all others to answer, come with every key. */
export const Capabilities = model('Capabilities', { pub: Rules, sub: Rules })

/** Rules of all roles of a person together. */
const maxEffectiveRules = 2_000

const EffectiveRules = Type.Object(
  { allow: list(SubjectPattern, maxEffectiveRules) },
  { additionalProperties: false },
)

/** What a key may do that was made from several roles. */
export const EffectiveCapabilities = model('EffectiveCapabilities', {
  pub: EffectiveRules,
  sub: EffectiveRules,
})
export type Capabilities = Type.Static<typeof EffectiveCapabilities>

/** Which extensions somebody sees in lists, beside those that its subscribe rules cover. */
export const VisibleExtensions = Type.Array(
  Type.String({ minLength: 1, maxLength: 100, description: 'Extension prefix, or * for all' }),
  { maxItems: 500, description: 'Visible extensions' },
)

export const KeyId = Type.String({
  minLength: 2,
  maxLength: 40,
  ...form('^[a-z0-9]+$', 'a key id: lowercase letters and digits'),
  description: 'Key id',
})

export const Key = model('Key', {
  id: KeyId,
  name: Name('Key name'),
  notes: Text('Free text'),
  owner: Subject('Subject of the user who owns the key'),
  kind: Type.Enum(['key', 'session', 'agent']),
  roles: list(Name('Role'), 100),
  createdBy: Type.Optional(KeyId),
  created: Timestamp('Creation time'),
  expires: Type.Optional(Timestamp('Expiry time')),
  lastUsed: Type.Optional(Timestamp('Time of the last connection with the key, to the minute')),
  revoked: Type.Optional(Timestamp('Revocation time')),
  oldTokenExpires: Type.Optional(
    Timestamp('Expiry time of the token from before the last rotation, while that token is valid'),
  ),
  capabilities: EffectiveCapabilities,
  visible_extensions: VisibleExtensions,
})
export type Key = Type.Static<typeof Key>

/** Longest life of a key, so that a forgotten one ends; a key without expiry is a decision of its owner. */
const maxExpiryDays = 3_650

/** Time enough to bring a new token to all who use the old one; no longer than a token that got lost should open doors. */
export const defaultOverlapMinutes = 60
const maxOverlapMinutes = 7 * 24 * 60

export const ExpiresInDays = Type.Optional(
  Type.Integer({
    minimum: 1,
    maximum: maxExpiryDays,
    description: 'Days until the key expires; default never',
  }),
)

const Token = Type.String({ maxLength: 1_000, description: 'API token' })

/** A key and its token, told only once. Not `NewKey`: clients generated for Go give that name to the constructor of `Key`. */
export const KeyWithToken = model('KeyWithToken', { ...Key.properties, token: Token })

/** The two paths of one key. */
const byId = (method: 'GET' | 'PUT' | 'DELETE') =>
  ['/api/v1/keys/{id}', '/api/v1/key/{id}'].map((path) => ({ method, path }) as const)

export const keys = resource('keys', {
  create: {
    summary: 'Create an API key',
    description:
      'The token is shown only once. Requires `capabilities` or `role`; they must be within your own permissions. The key expires no later than your key, unless you use a session.',
    input: strict({
      name: Name('Key name'),
      notes: Type.Optional(Text('Free text')),
      role: Type.Optional(
        Name(
          'Role whose present permissions the key gets, such as viewer for a read-only key; later changes of the role do not change the key',
        ),
      ),
      capabilities: Type.Optional(Capabilities),
      expiresInDays: ExpiresInDays,
    }),
    output: KeyWithToken,
    errors: ['NOT_FOUND', 'EXCEEDS_ROLE', 'LIMIT_REACHED'],
    audit: { object: 'id', details: ['name', 'expiresInDays', 'role', 'capabilities'] },
    lasting: true,
    http: [{ method: 'POST', path: '/api/v1/keys', status: 201 }],
    cli: {
      args: ['name'],
      example: 'gantry keys create reporting --role viewer --expires-in-days 90',
    },
  },
  list: {
    summary: 'List your API keys, or all keys as an administrator',
    input: strict({
      ...page,
      own: Type.Optional(Switch(false, 'Return only your own keys; default: all keys that you may see')),
    }),
    output: list(Key),
    errors: [],
    http: [
      { method: 'GET', path: '/api/v1/keys' },
      { method: 'GET', path: '/api/v1/admin/keys' },
    ],
    cli: { columns: ['id', 'name', 'owner', 'kind', 'created', 'expires', 'lastUsed', 'revoked'] },
  },
  get: {
    summary: 'Show an API key',
    description: 'Revoked keys are shown only in the list.',
    input: strict({ id: KeyId }),
    output: Key,
    errors: ['NOT_FOUND'],
    http: byId('GET'),
    cli: { args: ['id'] },
  },
  update: {
    summary: 'Rename an API key, change its notes, or remove permissions',
    description:
      'Fields that are not given stay unchanged. Permissions can be removed but not added. If the permissions change, the connections of the key are closed.',
    input: strict({
      id: KeyId,
      name: Type.Optional(Name('Key name')),
      notes: Type.Optional(Text('Free text')),
      capabilities: Type.Optional(Capabilities),
    }),
    output: Key,
    errors: ['NOT_FOUND', 'EXCEEDS_ROLE', 'NOT_ALLOWED_IN_STATE'],
    audit: { object: 'id', details: ['name', 'capabilities'] },
    lasting: true,
    http: byId('PUT'),
    cli: {
      args: ['id'],
      example: 'gantry keys update k0123456789abc --name reporting-2',
      confirmOwn: { key: 'id', with: 'capabilities' },
    },
  },
  rotate: {
    summary: 'Issue a new token for an API key',
    description:
      'The new token is shown only once. The old token stays valid for `overlapMinutes`, but cannot change keys, roles, assignments, settings or alerts. Its connections close when it ends. A key cannot rotate a key that expires later than itself or never, or a key that sees other extensions.',
    input: strict({
      id: KeyId,
      overlapMinutes: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: maxOverlapMinutes,
          description: `Minutes until the old token expires; default ${defaultOverlapMinutes}`,
        }),
      ),
    }),
    output: KeyWithToken,
    errors: ['NOT_FOUND', 'EXCEEDS_ROLE', 'NOT_ALLOWED_IN_STATE'],
    audit: { object: 'id', details: ['overlapMinutes'] },
    lasting: true,
    http: [{ method: 'POST', path: '/api/v1/keys/{id}/rotate', query: [] }],
    cli: { args: ['id'], example: 'gantry keys rotate k0123456789abc --overlap-minutes 60' },
  },
  revoke: {
    summary: 'Revoke an API key and close its connections',
    description:
      'Replies after the connections are closed. You cannot revoke a key with more permissions than yours.',
    input: strict({ id: KeyId }),
    output: Key,
    errors: ['NOT_FOUND', 'EXCEEDS_ROLE'],
    audit: { object: 'id' },
    lasting: true,
    http: byId('DELETE'),
    cli: { args: ['id'], example: 'gantry keys revoke k0123456789abc', confirmOwn: { key: 'id' } },
  },
  examine: {
    summary: 'Check whether a token is valid for this platform, and why not',
    description: 'For administrators only: the holder of a rejected token is not told the reason.',
    input: strict({ token: Type.String({ maxLength: 2_000, description: 'API token' }) }),
    output: strict({ valid: Type.Boolean(), explanation: Text('Explanation of the result') }),
    errors: [],
    audit: {},
    http: [{ method: 'POST', path: '/api/v1/admin/keys/examine' }],
    cli: { secrets: ['token'] },
  },
  self: {
    summary: 'Show the API key of the token in use',
    input: strict({}),
    output: Key,
    errors: ['NOT_FOUND'],
    http: [{ method: 'GET', path: '/api/v1/apikey' }],
  },
})

/** What other services of the platform ask about a caller. */
export const keysInternal = internalResource('keys', {
  permissions: {
    summary: 'Get the name, owner, permissions and visible extensions of a valid key',
    input: strict({ id: KeyId }),
    output: strict({
      name: Key.properties.name,
      owner: Key.properties.owner,
      capabilities: EffectiveCapabilities,
      visible_extensions: VisibleExtensions,
      isAdministrator: Type.Boolean({
        description: 'Whether the key has all permissions of an administrator',
      }),
    }),
    errors: ['NOT_FOUND'],
    http: [],
  },
  limits: {
    summary: 'Get the owner of a key and the limits of that owner',
    input: strict({ id: KeyId }),
    output: strict({ owner: Key.properties.owner, limits: OwnerLimits }),
    errors: ['NOT_FOUND'],
    http: [],
  },
  expiring: {
    summary: 'List valid keys, except sessions, that expire by a given time, earliest first',
    input: strict({ by: Timestamp('Latest expiry time') }),
    output: list(strict({ id: KeyId, created: Key.properties.created, expires: Timestamp('Expiry time') })),
    errors: [],
    http: [],
  },
  'end-sessions': {
    summary: 'End all sessions of a user after a password reset',
    input: strict({ owner: Subject('Subject of the user') }),
    output: strict({ ended: Type.Integer({ minimum: 0, description: 'Number of ended sessions' }) }),
    errors: [],
    http: [],
  },
  recover: {
    summary: 'Restore administrator rights of the local operator',
    description:
      'If the token belongs to an operator key whose permissions were reduced, the key gets all permissions back.',
    input: strict({ token: Type.Optional(Token) }),
    output: strict({ id: KeyId, token: Token }),
    errors: [],
    http: [],
  },
})
