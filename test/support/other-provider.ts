import { createServer } from 'node:http'
import { exportJWK, generateKeyPair } from 'jose'
import { type Configuration, Provider } from 'oidc-provider'
import { listenOnLoopback } from './loopback.ts'

/** The one client of this provider, which has a secret. */
export const confidential = {
  id: 'gantry-confidential',
  secret: 'a secret of enough characters, more than 32',
}

export interface OtherProvider extends AsyncDisposable {
  readonly issuer: string
}

/** What a provider may do otherwise than ours. */
export interface Habits {
  readonly authentication: 'client_secret_basic' | 'client_secret_post'
  /** Where groups are: on the page about a person, or in an access token that is a JWT. */
  readonly groupsIn: 'userinfo' | 'access token'
}

const account = { sub: 'ada', name: 'Ada', groups: ['readers'] }

/**
 * A provider with RSA keys and a confidential client, where everybody is signed in as Ada without a page. No ID token comes
 * with a refresh, as OpenID Connect allows.
 */
export async function startOtherProvider(
  redirectUris: readonly string[],
  { authentication, groupsIn }: Habits,
): Promise<OtherProvider> {
  const server = createServer()
  const listening = await listenOnLoopback(server)
  const issuer = `http://127.0.0.1:${listening.port}`
  const { privateKey } = await generateKeyPair('RS256', { extractable: true })
  const inAccessToken: Configuration = {
    extraTokenClaims: () => ({ groups: account.groups }),
    features: {
      devInteractions: { enabled: false },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => 'https://other.example',
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({ scope: 'openid profile', accessTokenFormat: 'jwt' }),
      },
    },
  }
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: confidential.id,
        client_secret: confidential.secret,
        token_endpoint_auth_method: authentication,
        redirect_uris: [...redirectUris],
        application_type: 'native',
        grant_types: ['authorization_code', 'refresh_token'],
      },
    ],
    clientAuthMethods: [authentication],
    jwks: { keys: [{ ...(await exportJWK(privateKey)), alg: 'RS256', use: 'sig', kid: 'one' }] },
    claims: { openid: ['sub'], profile: ['name', ...(groupsIn === 'userinfo' ? ['groups'] : [])] },
    findAccount: () => ({ accountId: account.sub, claims: () => account }),
    issueRefreshToken: () => true,
    interactions: { url: (_, { uid }) => `/sign-in/${uid}` },
    loadExistingGrant: async ({ oidc }) => {
      const grant = new oidc.provider.Grant({ clientId: confidential.id, accountId: account.sub })
      grant.addOIDCScope('openid profile')
      grant.addResourceScope('https://other.example', 'openid profile')
      await grant.save()
      return grant
    },
    ...(groupsIn === 'access token' ? inAccessToken : { features: { devInteractions: { enabled: false } } }),
  })
  provider.use(async (ctx, next) => {
    await next()
    if (ctx.oidc?.params?.['grant_type'] === 'refresh_token')
      delete (ctx.body as { id_token?: string }).id_token
  })
  const answer = provider.callback()
  server.on('request', (request, response) => {
    const isInteraction = request.url?.startsWith('/sign-in/')
    const result = { login: { accountId: account.sub }, consent: {} }
    const answered = isInteraction
      ? provider.interactionFinished(request, response, result)
      : answer(request, response)
    answered.catch(() => response.writeHead(500).end())
  })
  return { issuer, [Symbol.asyncDispose]: () => listening[Symbol.asyncDispose]() }
}
