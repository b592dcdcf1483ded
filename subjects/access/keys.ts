import { Type } from 'typebox'
import { internalResource, resource } from '../kit/contract.ts'
import { form } from '../kit/forms.ts'
import { OwnerLimits } from './settings.ts'
import { list, model, Name, page, strict, Subject, SubjectPattern, Text, Timestamp } from '../kit/schemas.ts'

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
  Type.String({ minLength: 1, maxLength: 100, description: 'Extension prefix, * for all' }),
  { maxItems: 500, description: 'Extensions that it may see' },
)

export const KeyId = Type.String({
  minLength: 2,
  maxLength: 40,
  ...form('^[a-z0-9]+$', 'the id of a key: small letters and digits'),
  description: 'Id of the key',
})

export const Key = model('Key', {
  id: KeyId,
  name: Name('Name of the key'),
  notes: Text('Free text'),
  owner: Subject('Subject of the user whose key this is'),
  kind: Type.Enum(['key', 'session', 'agent']),
  roles: list(Name('Role'), 100),
  createdBy: Type.Optional(KeyId),
  created: Timestamp('When it was made'),
  expires: Type.Optional(Timestamp('When it stops being valid')),
  lastUsed: Type.Optional(Timestamp('Last connection with it, to the minute')),
  revoked: Type.Optional(Timestamp('When it was revoked')),
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
    description: 'Days until it expires; default never',
  }),
)

export const Token = Type.String({ maxLength: 1_000, description: 'The API token' })

/** The two paths of one key. */
const byId = (method: 'GET' | 'PUT' | 'DELETE') =>
  ['/api/v1/keys/{id}', '/api/v1/key/{id}'].map((path) => ({ method, path }) as const)

export const keys = resource('keys', {
  create: {
    summary: 'Make an API key; its token is in this reply and never again',
    description:
      'The capabilities must be within those of the key that asks, and it ends no later than that, if that is no session.',
    input: strict({
      name: Name('Name of the key'),
      notes: Type.Optional(Text('Free text')),
      capabilities: Capabilities,
      expiresInDays: ExpiresInDays,
    }),
    output: strict({
      ...Key.properties,
      token: Token,
    }),
    errors: ['EXCEEDS_ROLE', 'LIMIT_REACHED'],
    audit: { object: 'id' },
    lasting: true,
    http: [{ method: 'POST', path: '/api/v1/keys', status: 201 }],
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
    http: [
      { method: 'GET', path: '/api/v1/keys' },
      { method: 'GET', path: '/api/v1/admin/keys' },
    ],
    cli: { columns: ['id', 'name', 'owner', 'kind', 'created', 'expires', 'lastUsed', 'revoked'] },
  },
  get: {
    summary: 'One API key',
    description: 'A key that was revoked is in the list alone.',
    input: strict({ id: KeyId }),
    output: Key,
    errors: ['NOT_FOUND'],
    http: byId('GET'),
    cli: { args: ['id'] },
  },
  update: {
    summary: 'Rename an API key, change its notes, or narrow what it may do',
    description:
      'What is not given stays. A key can be narrowed and not widened; its connections are dropped when what it may do has changed.',
    input: strict({
      id: KeyId,
      name: Type.Optional(Name('Name of the key')),
      notes: Type.Optional(Text('Free text')),
      capabilities: Type.Optional(Capabilities),
    }),
    output: Key,
    errors: ['NOT_FOUND', 'EXCEEDS_ROLE', 'NOT_ALLOWED_IN_STATE'],
    audit: { object: 'id' },
    lasting: true,
    http: byId('PUT'),
    cli: {
      args: ['id'],
      example: 'gantry keys update k0123456789abc --name reporting-2',
      confirmOwn: { key: 'id', with: 'capabilities' },
    },
  },
  rotate: {
    summary: 'Give an API key a new token; the old one stays valid for a while',
    description:
      'The new token is in this reply and never again. What the old one opened ends with it; until then the old one neither makes nor changes keys, roles, assignments, settings or alerts. A key that ends rotates none that ends later or never, and none that sees other extensions.',
    input: strict({
      id: KeyId,
      overlapMinutes: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: maxOverlapMinutes,
          description: `Minutes until the old token ends; default ${defaultOverlapMinutes}`,
        }),
      ),
    }),
    output: strict({ ...Key.properties, token: Token }),
    errors: ['NOT_FOUND', 'EXCEEDS_ROLE', 'NOT_ALLOWED_IN_STATE'],
    audit: { object: 'id' },
    lasting: true,
    http: [{ method: 'POST', path: '/api/v1/keys/{id}/rotate', query: [] }],
    cli: { args: ['id'], example: 'gantry keys rotate k0123456789abc --overlap-minutes 60' },
  },
  revoke: {
    summary: 'Revoke an API key and drop its connections',
    description:
      'The reply comes when the connections are gone. A key that may do more than yours cannot be revoked.',
    input: strict({ id: KeyId }),
    output: Key,
    errors: ['NOT_FOUND', 'EXCEEDS_ROLE'],
    audit: { object: 'id' },
    lasting: true,
    http: byId('DELETE'),
    cli: { args: ['id'], example: 'gantry keys revoke k0123456789abc', confirmOwn: { key: 'id' } },
  },
  examine: {
    summary: 'Whether a token opens this platform, and if not why',
    description: 'For administrators: whoever is refused is not told why.',
    input: strict({ token: Type.String({ maxLength: 2_000, description: 'The API token' }) }),
    output: strict({ valid: Type.Boolean(), explanation: Text('The verdict in words') }),
    errors: [],
    audit: {},
    http: [{ method: 'POST', path: '/api/v1/admin/keys/examine' }],
    cli: { secrets: ['token'] },
  },
  self: {
    summary: 'The API key that owns the presented token',
    input: strict({}),
    output: Key,
    errors: ['NOT_FOUND'],
    http: [{ method: 'GET', path: '/api/v1/apikey' }],
  },
})

/** What other services of the platform ask about a caller. */
export const keysInternal = internalResource('keys', {
  permissions: {
    summary: 'What a key that is valid may do and see, what it is called, and whose it is',
    input: strict({ id: KeyId }),
    output: strict({
      name: Key.properties.name,
      owner: Key.properties.owner,
      capabilities: EffectiveCapabilities,
      visible_extensions: VisibleExtensions,
      isAdministrator: Type.Boolean({ description: 'Whether it may do all that an administrator may' }),
    }),
    errors: ['NOT_FOUND'],
    http: [],
  },
  limits: {
    summary: 'Whose a key is, and what that owner may have',
    input: strict({ id: KeyId }),
    output: strict({ owner: Key.properties.owner, limits: OwnerLimits }),
    errors: ['NOT_FOUND'],
    http: [],
  },
  expiring: {
    summary: 'The keys that are valid, are no sessions, and end by a time; those that end first',
    input: strict({ by: Timestamp('Until when') }),
    output: list(strict({ id: KeyId, expires: Timestamp('When it stops being valid') })),
    errors: [],
    http: [],
  },
  recover: {
    summary: 'Make the local operator an administrator again: for whoever owns the configuration folder',
    description:
      'Where the token given is that of an operator key which was narrowed, the key gets back all rights.',
    input: strict({ token: Type.Optional(Token) }),
    output: strict({ id: KeyId, token: Token }),
    errors: [],
    http: [],
  },
})
