import { Type } from 'typebox'
import { resource } from '../kit/contract.ts'
import { form } from '../kit/forms.ts'
import { KeyId } from './keys.ts'
import { list, model, Name, strict, Timestamp } from '../kit/schemas.ts'
import { User } from './users.ts'

/** Where people begin with a browser, below the platform's own address. */
export const loginPath = '/login'
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
  expires: Timestamp('When the session ends'),
  refreshAfter: Type.Optional(
    Timestamp('From when on to ask for a refresh; absent when the session cannot be refreshed'),
  ),
}

const SignedIn = model('SignedIn', {
  token: Type.String({ maxLength: 1_000, description: 'The session token; it is used like an API token' }),
  ...lasting,
  user: User,
  narrowed: list(
    strict({
      id: KeyId,
      name: Name('Name of the key'),
      became: Type.Enum(['narrowed', 'revoked']),
    }),
  ),
})

const WaitSeconds = Type.Integer({ minimum: 0, maximum: 3_600, description: 'Seconds until the next poll' })

/** Sign-in by the identity provider (OpenID Connect: authorization code with PKCE). */
export const signIn = resource('sign-in', {
  begin: {
    summary: 'Begin a sign-in: where to send the browser',
    description:
      'The redirect URI is the platform’s own callback, or for the command line a loopback address. Whoever begins keeps the flow, and gives it back to complete.',
    input: strict({
      client: Type.Enum(['ui', 'cli'], { description: 'Who signs in: a page of the platform, or a program' }),
      redirectUri: Type.String({
        maxLength: 400,
        ...form(
          `^https?://[^\\s/?#]+(?:/[^\\s?#]*)?${loopbackCallbackPath}$`,
          `the address of the platform with ${callbackPath}, or for the command line http://127.0.0.1:<port>${loopbackCallbackPath}`,
        ),
        description: 'Where the browser is sent afterwards',
      }),
    }),
    output: strict({
      authorizationUrl: Type.String({ maxLength: maxUrlLength, format: 'uri' }),
      flow: Type.String({ maxLength: maxFlowLength, description: 'Sealed; opaque to its holder' }),
      expires: Timestamp('Until when complete takes the flow'),
    }),
    errors: [],
    http: [{ method: 'POST', path: '/api/v1/sign-in', public: true }],
    deadlineMs: providerDeadlineMs,
  },
  complete: {
    summary: 'Complete a sign-in with what the identity provider sent back',
    input: strict({
      flow: Type.String({ maxLength: maxFlowLength, description: 'As begin has given it' }),
      callback: Type.String({
        maxLength: maxUrlLength,
        description: 'Query of the URL that the browser was sent back to',
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
    description: 'An ID token, or an access token that is a JWT, issued for one of our client ids.',
    input: strict({
      oidcToken: Type.String({
        maxLength: maxOidcTokenLength,
        description: 'The identity provider’s token',
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
    description: 'For programs where there is no browser: they show the address and the code, and poll.',
    input: strict({}),
    output: strict({
      verificationUri: Type.String({ maxLength: maxUrlLength, format: 'uri' }),
      userCode: Type.String({ maxLength: 100, description: 'What to enter there' }),
      verificationUriComplete: Type.Optional(
        Type.String({
          maxLength: maxUrlLength,
          format: 'uri',
          description: 'The address with the code in it',
        }),
      ),
      flow: Type.String({ maxLength: maxFlowLength, description: 'Sealed; opaque to its holder' }),
      expires: Timestamp('Until when device-poll takes the flow'),
      waitSeconds: WaitSeconds,
    }),
    errors: ['UNSUPPORTED'],
    http: [{ method: 'POST', path: '/api/v1/sign-in/device', public: 'credentials' }],
    deadlineMs: providerDeadlineMs,
  },
  'device-poll': {
    summary: 'Complete a sign-in with a browser on another machine, once somebody has entered the code',
    input: strict({
      flow: Type.String({ maxLength: maxFlowLength, description: 'As device-begin has given it' }),
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
    summary: 'Lengthen the session whose token asks, if the identity provider still vouches for the person',
    description:
      'The token stays the same, and so does what it may do: a refresh is no sign-in. When the provider has ended the sign-in, the session ends, too; while the provider is away, the session stays as it is.',
    input: strict({}),
    output: strict(lasting),
    errors: ['NOT_FOUND', 'NOT_ALLOWED_IN_STATE'],
    audit: {},
    http: [{ method: 'POST', path: '/api/v1/sign-in/refresh' }],
    deadlineMs: providerDeadlineMs,
  },
  out: {
    summary: 'Sign out: end the session whose token asks',
    description:
      'What the session was refreshed with is revoked at the identity provider, where the person may stay signed in until its own page is visited.',
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
