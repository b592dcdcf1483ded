import { Type } from 'typebox'
import { resource } from '../kit/contract.ts'
import { form } from '../kit/forms.ts'
import { loginPath } from '../kit/names.ts'
import { KeyId } from './keys.ts'
import { list, model, Name, strict, Timestamp } from '../kit/schemas.ts'
import { User } from './users.ts'

/** Where the browser comes back to. */
export const callbackPath = `${loginPath}/callback`
/** The same on the loopback address where the command line waits. */
export const loopbackCallbackPath = '/callback'

/** When the provider was away at a refresh, the next use of the session after this time asks again. */
export const refreshAgainMs = 60_000

/** Redirect and all that a provider adds to it; some put a kilobyte into the code. */
const maxUrlLength = 8_000
/** What a flow carries is a few hundred bytes. */
const maxFlowLength = 2_000
/** Tokens that name many groups; all headers of a request together may have 16 KiB. */
const maxOidcTokenLength = 16_000

/** The provider is asked for tokens, then for its keys and what it knows of the person, each within a few seconds. */
const providerDeadlineMs = 15_000

/** How long a session lasts. */
const lasting = {
  expires: Timestamp('Time when the session ends'),
  refreshAfter: Type.Optional(
    Timestamp('Time after which to refresh the session; absent if it cannot be refreshed'),
  ),
}

const SignedIn = model('SignedIn', {
  token: Type.String({ maxLength: 1_000, description: 'Session token, used like an API token' }),
  ...lasting,
  user: User,
  narrowed: list(
    strict({
      id: KeyId,
      name: Name('Key name'),
      became: Type.Enum(['narrowed', 'revoked']),
    }),
  ),
})

const WaitSeconds = Type.Integer({ minimum: 0, maximum: 3_600, description: 'Seconds until the next poll' })

/** Sign-in by the identity provider (OpenID Connect: authorization code with PKCE). */
export const signIn = resource('sign-in', {
  begin: {
    summary: 'Begin a sign-in and get the address for the browser',
    description:
      'The redirect URI is the callback of the platform or, for the command line, a loopback address. Keep `flow` from the reply and pass it to `complete`.',
    input: strict({
      client: Type.Enum(['ui', 'cli'], {
        description: 'Client type: ui for a page of the platform, cli for a program',
      }),
      redirectUri: Type.String({
        maxLength: 400,
        ...form(
          `^https?://[^\\s/?#]+(?:/[^\\s?#]*)?${loopbackCallbackPath}$`,
          `the address of the platform with ${callbackPath}, or for the command line http://127.0.0.1:<port>${loopbackCallbackPath}`,
        ),
        description: 'Address to which the browser returns',
      }),
    }),
    output: strict({
      authorizationUrl: Type.String({ maxLength: maxUrlLength, format: 'uri' }),
      flow: Type.String({ maxLength: maxFlowLength, description: 'Opaque, encrypted state of the sign-in' }),
      expires: Timestamp('Time until which `complete` accepts the flow'),
    }),
    errors: [],
    http: [{ method: 'POST', path: '/api/v1/sign-in', public: true }],
    deadlineMs: providerDeadlineMs,
  },
  complete: {
    summary: 'Complete a sign-in with the reply of the identity provider',
    input: strict({
      flow: Type.String({ maxLength: maxFlowLength, description: '`flow` from the reply to `begin`' }),
      callback: Type.String({
        maxLength: maxUrlLength,
        description: 'Query string of the URL to which the browser returned',
      }),
    }),
    output: SignedIn,
    errors: [],
    http: [{ method: 'POST', path: '/api/v1/sign-in/complete', public: 'credentials' }],
    cli: { secrets: ['flow', 'callback'] },
    deadlineMs: providerDeadlineMs,
  },
  exchange: {
    summary: 'Exchange a token of the identity provider for a session token',
    description:
      'Accepts an ID token, or an access token in JWT format, that was issued for a client id of the platform.',
    input: strict({
      oidcToken: Type.String({
        maxLength: maxOidcTokenLength,
        description: 'Token of the identity provider',
      }),
    }),
    output: SignedIn,
    errors: [],
    http: [
      {
        method: 'GET',
        path: '/api/v1/usertoken',
        public: 'credentials',
        bearer: 'oidcToken',
      },
    ],
    cli: { secrets: ['oidcToken'] },
    deadlineMs: providerDeadlineMs,
  },
  'device-begin': {
    summary: 'Begin a sign-in with a browser on another machine',
    description: 'For programs on hosts without a browser: show the address and the code, then poll.',
    input: strict({}),
    output: strict({
      verificationUri: Type.String({ maxLength: maxUrlLength, format: 'uri' }),
      userCode: Type.String({ maxLength: 100, description: 'Code to enter at that address' }),
      verificationUriComplete: Type.Optional(
        Type.String({
          maxLength: maxUrlLength,
          format: 'uri',
          description: 'Address that includes the code',
        }),
      ),
      flow: Type.String({ maxLength: maxFlowLength, description: 'Opaque, encrypted state of the sign-in' }),
      expires: Timestamp('Time until which `device-poll` accepts the flow'),
      waitSeconds: WaitSeconds,
    }),
    errors: ['UNSUPPORTED'],
    http: [{ method: 'POST', path: '/api/v1/sign-in/device', public: 'credentials' }],
    deadlineMs: providerDeadlineMs,
  },
  'device-poll': {
    summary: 'Complete a sign-in with a browser on another machine after the code was entered',
    input: strict({
      flow: Type.String({ maxLength: maxFlowLength, description: '`flow` from the reply to `device-begin`' }),
    }),
    output: strict({
      session: Type.Optional(SignedIn),
      waitSeconds: Type.Optional(WaitSeconds),
    }),
    errors: [],
    http: [{ method: 'POST', path: '/api/v1/sign-in/device/poll', public: 'credentials' }],
    cli: { secrets: ['flow'] },
    deadlineMs: providerDeadlineMs,
  },
  refresh: {
    summary: 'Extend your session',
    description:
      'The token and its permissions stay the same. If the identity provider has ended the sign-in, the session ends too. While the provider is unavailable, the session stays unchanged.',
    input: strict({}),
    output: strict(lasting),
    errors: ['NOT_FOUND', 'NOT_ALLOWED_IN_STATE'],
    audit: {},
    http: [{ method: 'POST', path: '/api/v1/sign-in/refresh' }],
    deadlineMs: providerDeadlineMs,
  },
  out: {
    summary: 'Sign out and end your session',
    description:
      'The refresh token is revoked at the identity provider. The user may stay signed in there until their browser opens `endSessionUrl`.',
    input: strict({}),
    output: strict({
      endSessionUrl: Type.Optional(
        Type.String({
          maxLength: maxUrlLength,
          format: 'uri',
          description: 'Page of the identity provider that ends the session there',
        }),
      ),
    }),
    errors: ['NOT_FOUND', 'NOT_ALLOWED_IN_STATE'],
    audit: {},
    http: [{ method: 'POST', path: '/api/v1/sign-in/out' }],
  },
})
