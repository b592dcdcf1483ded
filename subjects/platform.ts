import { Type } from 'typebox'
import { resource } from './contract.ts'
import { list, model, strict, Text } from './schemas.ts'

const Address = Type.String({ maxLength: 300, format: 'uri' })

const Component = strict({
  name: Type.String({ maxLength: 60 }),
  healthy: Type.Boolean(),
  message: Type.Optional(Text('What is wrong, and what to do')),
})

const Health = model('Health', {
  status: Type.Enum(['healthy', 'degraded']),
  version: Type.String({ maxLength: 40 }),
  components: list(Component, 100),
})

const ClientId = (description: string) => Type.String({ maxLength: 400, description })

/** Where people sign in, and what we are called there. */
const IdentityProvider = model('IdentityProvider', {
  issuer: Address,
  clientId: ClientId('Client id of the command line and other programs'),
  uiClientId: ClientId('Client id of the pages'),
})

/** What the platform says of itself. */
export const platform = resource('platform', {
  info: {
    summary: 'Name, version and addresses of this platform',
    input: strict({}),
    output: strict({
      name: Type.String({ maxLength: 60, description: 'Product name' }),
      version: Type.String({ maxLength: 40, description: 'Semantic version' }),
      instance: Type.String({
        maxLength: 60,
        description: 'Id of this instance; every API token encodes it',
      }),
      broker: strict({ tcp: Address, websocket: Address }),
      http: strict({ platform: Address, migrator: Address }),
      identityProvider: Type.Optional(IdentityProvider),
      bootstrap: Type.Boolean({
        description: 'Whether everybody who signs in is an administrator, as none is configured',
      }),
    }),
    errors: [],
    http: [{ server: 'platform', method: 'GET', path: '/api/v1/gantryinfo', public: true }],
    cli: { example: 'gantry platform info' },
  },
  ping: {
    summary: 'Whether the platform answers',
    input: strict({}),
    output: strict({ message: Type.Literal('pong') }),
    errors: [],
    http: [{ server: 'platform', method: 'GET', path: '/api/v1/ping', public: true }],
  },
  health: {
    summary: 'Status of each component',
    description:
      'Answers UNAVAILABLE (503) with the same details while a component is degraded, and without them while the broker does not answer.',
    input: strict({}),
    output: Health,
    errors: [],
    http: [{ server: 'platform', method: 'GET', path: '/api/v1/health', public: true }],
  },
  ready: {
    summary: 'Whether the platform takes work; for load balancers',
    input: strict({}),
    output: strict({ ready: Type.Literal(true) }),
    errors: [],
    http: [{ server: 'platform', method: 'GET', path: '/api/v1/ready', public: true }],
  },
})
