import { hash, randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { exportJWK, generateKeyPair, type JWK } from 'jose'
import {
  type ClientMetadata,
  type Configuration,
  errors,
  type KoaContextWithOIDC,
  Provider,
} from 'oidc-provider'
import type { OidcConfig } from '../../../config/platform.ts'
import { messagePage, plainPagePolicy } from '../../../subjects/kit/html.ts'
import { callbackPath, loopbackCallbackPath } from '../../../subjects/access/sign-in.ts'
import {
  accountFor,
  accountNames,
  accounts,
  type StoredAccounts,
} from '../../../config/development-accounts.ts'
import { codePage, confirmPage, signedOutPage, signInPage, signOutPage, signOutScript } from './pages.ts'
import { MemoryStore } from './store.ts'

/** A private key, with the algorithm that it is for. */
export type SigningKey = JWK & { readonly alg: 'ES256' | 'RS256' | 'EdDSA' }

export interface ProviderOptions {
  readonly config: OidcConfig
  readonly publicUrl: string
  /** How the command line is called. */
  readonly command: string
  readonly stored: () => StoredAccounts
  /** Told of each wrong name or password, with the address that it came from. */
  readonly onWrong: (from: string | undefined) => void
  /** Private keys to sign with; a new one unless they are given. */
  readonly keys: readonly SigningKey[] | undefined
}

export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => Promise<void>

const interactionPath = '/interaction/'
/**
 * Where forms may lead is left open: the browser would stop the redirect that follows the sign-in, which goes to the
 * platform, or to the port where the command line waits.
 */
const contentSecurityPolicy = plainPagePolicy
const signOutPolicy = `${plainPagePolicy}; script-src 'sha256-${hash('sha256', signOutScript, 'base64')}'`
/** A name and a password. */
const maxFormBytes = 4_096
const secondsOfDay = 86_400
const tokenSeconds = 3_600
/** As long as a sign-in at the platform may take. */
const interactionSeconds = 600

/** The provider as a handler of requests: the pages of the protocol, and the sign-in page. */
export async function createProvider(options: ProviderOptions): Promise<RequestHandler> {
  const store = new MemoryStore()
  const provider = new Provider(options.config.issuer, {
    ...clientsOf(options),
    ...behaviour(store, options.publicUrl),
    jwks: { keys: [...(options.keys ?? [await newKey()])] },
  })
  const answer = provider.callback()
  let { passwords } = options.stored()
  /** Who has another password now has to sign in with it. */
  const forgetChanged = () => {
    const now = options.stored().passwords
    for (const name of accountNames)
      if (now[name].hash !== passwords[name].hash) store.forget(accounts[name].subject)
    passwords = now
  }
  return async (request, response) => {
    forgetChanged()
    if (request.url?.startsWith(interactionPath)) await signIn(provider, options, request, response)
    else await answer(request, response)
  }
}

async function newKey(): Promise<SigningKey> {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true })
  return { ...(await exportJWK(privateKey)), alg: 'ES256', use: 'sig' }
}

/** The pages of the platform, and its command line, which may wait on any port. */
function clientsOf({ config, publicUrl, keys }: ProviderOptions): Pick<Configuration, 'clients'> {
  const common: Pick<ClientMetadata, 'token_endpoint_auth_method' | 'id_token_signed_response_alg'> = {
    token_endpoint_auth_method: 'none',
    id_token_signed_response_alg: keys?.[0]?.alg ?? 'ES256',
  }
  return {
    clients: [
      {
        ...common,
        client_id: config.uiClientId,
        grant_types: ['authorization_code', 'refresh_token'],
        redirect_uris: [`${publicUrl}${callbackPath}`],
        post_logout_redirect_uris: [config.postLogoutRedirectUri ?? []].flat(),
      },
      {
        ...common,
        client_id: config.clientId,
        application_type: 'native',
        grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
        redirect_uris: ['127.0.0.1', '[::1]'].map((host) => `http://${host}${loopbackCallbackPath}`),
      },
    ],
  }
}

function behaviour(store: MemoryStore, publicUrl: string): Configuration {
  return {
    adapter: (model: string) => store.of(model),
    cookies: { keys: [randomBytes(32).toString('base64url')] },
    claims: { openid: ['sub'], profile: ['name', 'groups'] },
    // Everything is in the ID token, so that one request is enough.
    conformIdTokenClaims: false,
    pkce: { required: () => true },
    clientBasedCORS: () => false,
    findAccount: (_, id) => {
      const account = Object.values(accounts).find(({ subject }) => subject === id)
      if (account === undefined) return undefined
      const { subject: sub, name, groups } = account
      return { accountId: sub, claims: () => ({ sub, name, groups: [...groups] }) }
    },
    // Without being asked for, as many providers do.
    issueRefreshToken: (_, client) => client.grantTypeAllowed('refresh_token'),
    interactions: { url: (_, { uid }) => `${interactionPath}${uid}` },
    // Nobody is asked what the platform may know: the accounts are the platform's own.
    loadExistingGrant: async ({ oidc }) => {
      const { client, session, provider } = oidc
      const grant = new provider.Grant({ clientId: client!.clientId, accountId: session!.accountId! })
      grant.addOIDCScope('openid profile email')
      await grant.save()
      return grant
    },
    features: {
      devInteractions: { enabled: false },
      deviceFlow: {
        enabled: true,
        userCodeInputSource: (ctx, form, _, error) => send(ctx, codePage(form, error !== undefined)),
        userCodeConfirmSource: (ctx, form, _client, _device, code) => send(ctx, confirmPage(form, code)),
        successSource: (ctx) => send(ctx, messagePage('Signed in', 'Continue on the other machine.')),
      },
      revocation: { enabled: true, allowedPolicy: (_, { clientId }, token) => token.clientId === clientId },
      rpInitiatedLogout: {
        enabled: true,
        logoutSource: (ctx, form) => {
          // Whoever comes from the platform has asked to sign out already.
          const isAsked = ctx.oidc.params?.['post_logout_redirect_uri'] !== undefined
          send(ctx, signOutPage(form, isAsked), isAsked ? signOutPolicy : contentSecurityPolicy)
        },
        postLogoutSuccessSource: (ctx) => send(ctx, signedOutPage(publicUrl)),
      },
    },
    renderError: (ctx, { error, error_description: description = '' }) =>
      send(ctx, messagePage('Request failed', `${error}: ${description}`)),
    ttl: {
      AccessToken: tokenSeconds,
      DeviceCode: interactionSeconds,
      IdToken: tokenSeconds,
      Interaction: interactionSeconds,
      RefreshToken: secondsOfDay,
      Session: secondsOfDay,
      Grant: secondsOfDay,
    },
  }
}

function send(ctx: KoaContextWithOIDC, html: string, policy = contentSecurityPolicy): void {
  ctx.set('content-security-policy', policy)
  ctx.type = 'html'
  ctx.body = html
}

/** Shows the sign-in page; lets in who knows a name and its password. */
async function signIn(
  provider: Provider,
  { command, stored, onWrong }: Pick<ProviderOptions, 'command' | 'stored' | 'onWrong'>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const show = (status: number, html: string) => {
    response.writeHead(status, {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': contentSecurityPolicy,
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'same-origin',
      'cache-control': 'no-store',
    })
    response.end(html)
  }
  try {
    const { uid } = await provider.interactionDetails(request, response)
    const action = `${interactionPath}${uid}`
    if (request.method !== 'POST') return show(200, signInPage(action, command))
    if (!(Number(request.headers['content-length']) <= maxFormBytes))
      return show(413, messagePage('Request failed', 'The form is too large.'))
    const form = new URLSearchParams(await text(request))
    const name = form.get('name') ?? ''
    const account = await accountFor(stored(), name, form.get('password') ?? '')
    if (account === undefined) {
      onWrong(request.socket.remoteAddress)
      return show(401, signInPage(action, command, { problem: 'The user name or password is wrong.', name }))
    }
    const result = { login: { accountId: account.subject }, consent: {} }
    await provider.interactionFinished(request, response, result)
  } catch (error) {
    if (!(error instanceof errors.SessionNotFound)) throw error
    show(400, messagePage('Sign-in expired', 'Start again on the page or in the program where you began.'))
  }
}
