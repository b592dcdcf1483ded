import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { call } from '../../broker/rpc/client.ts'
import type { NatsConnection } from '../../broker/rpc/connection.ts'
import type { Log } from '../../broker/common/log.ts'
import type { Contract } from '../../subjects/kit/contract.ts'
import { GantryError, isGantryError } from '../../subjects/kit/errors.ts'
import { escapeHtml, inScheme, messagePage, plainPage, plainPagePolicy } from '../../subjects/kit/html.ts'
import {
  colorSchemeCookie,
  httpServers,
  isLoopbackHost,
  loginPath,
  logoutPath,
  sessionPath,
  title,
  uiPath,
} from '../../subjects/kit/names.ts'
import { callbackPath, signIn } from '../../subjects/access/sign-in.ts'
import { type User, users } from '../../subjects/access/users.ts'
import { markedAddress } from '../server/client-address.ts'
import { toGantryError } from '../server/failures.ts'
import { cookieOf } from './browser-sessions.ts'
import { addSessionRefresh, type SessionRefreshOptions } from './session-refresh.ts'

export interface SignInPages extends SessionRefreshOptions {
  /** Where browsers reach the platform. */
  readonly publicUrl: string
  /** For what nobody needs a token. */
  readonly edgeConnection: NatsConnection
  /** Undefined where there is no web interface. */
  readonly uiFolder: string | undefined
}

/** Sign-in for browsers: redirects, cookies and the few pages around them. What a person may do is decided elsewhere. */
export async function addSignIn(edge: FastifyInstance, pages: SignInPages): Promise<void> {
  const { edgeConnection, sessions, marks } = pages
  addSessionRefresh(edge, pages)
  /** What each of our own calls says of the request that it is made for. */
  const about = (contract: Contract, request: FastifyRequest) => ({
    requestId: request.id,
    ...markedAddress(marks, contract, request),
  })
  edge.get(sessionPath, (request) => ownToken(request, pages))
  await edge.register((scope, _, done) => {
    scope.setErrorHandler((error, request, reply) => sendProblem(reply, error, request, pages.log))
    // A form without fields.
    scope.addContentTypeParser('application/x-www-form-urlencoded', (_, body, done) => {
      body.resume()
      done(null)
    })
    scope.get('/', async (request, reply) => {
      const page = await firstPage(request, reply, pages)
      return page === undefined ? reply.redirect(uiPath) : sendPage(reply, page)
    })
    scope.get(loginPath, async (request, reply) => {
      const elsewhere = ownAddress(request, pages)
      if (elsewhere !== undefined) return reply.redirect(`${elsewhere}${loginPath}`)
      const redirectUri = `${pages.publicUrl}${callbackPath}`
      const asked = { client: 'ui', redirectUri } as const
      const begun = await call(edgeConnection, signIn.begin, asked, about(signIn.begin, request))
      sessions.beginFlow(reply, begun.flow, begun.expires)
      return reply.redirect(begun.authorizationUrl)
    })
    scope.get(callbackPath, async (request, reply) => {
      const flow = sessions.flowOf(request)
      if (flow === undefined) throw new GantryError('INVALID_INPUT', 'this sign-in has expired; start again')
      sessions.endFlow(reply)
      const callback = request.url.slice(callbackPath.length + 1)
      const asked = { flow, callback }
      const session = await call(edgeConnection, signIn.complete, asked, about(signIn.complete, request))
      sessions.begin(reply, session)
      // Not a redirect: the browser would take it for one of the provider, and leave the new cookie at home.
      return sendPage(reply, plainPage('Signed in', '<p><a href="/">Continue</a></p>', '/'))
    })
    scope.post(logoutPath, async (request, reply) => {
      // It takes the cookie away even where none came along, as from another site.
      if (!sessions.isOwn(request))
        throw new GantryError('UNAUTHENTICATED', 'sign out on a page of this platform')
      const token = sessions.tokenOf(request)
      const url = token === undefined ? undefined : await signOut(token, request, pages)
      sessions.end(reply)
      // Not a redirect: the policy of the page that the form is on would stop it.
      return sendPage(reply, url === undefined ? signedOutPage() : endingPage(url))
    })
    done()
  })
}

/** The token of the session that a page of ours runs in. @throws GantryError UNAUTHENTICATED when there is none, or it is over */
async function ownToken(
  request: FastifyRequest,
  { pool, sessions }: SignInPages,
): Promise<{ token: string }> {
  const token = sessions.tokenOf(request)
  if (token === undefined) throw new GantryError('UNAUTHENTICATED', `sign in at ${loginPath}`)
  await pool.get(token)
  return { token }
}

/** The address at which browsers keep our cookies, when this host was asked by another of its names. */
function ownAddress(request: FastifyRequest, { publicUrl }: SignInPages): string | undefined {
  const { host, hostname } = new URL(publicUrl)
  // A proxy may ask us by any name.
  return isLoopbackHost(hostname) && request.headers.host !== host ? publicUrl : undefined
}

/** Undefined for somebody who is signed in and has the web interface. */
async function firstPage(
  request: FastifyRequest,
  reply: FastifyReply,
  { pool, sessions, uiFolder }: SignInPages,
): Promise<string | undefined> {
  const token = sessions.heldBy(request)
  if (token === undefined) return signedOutPage()
  try {
    const person = await call(await pool.get(token), users.self, {}, { requestId: request.id })
    return uiFolder === undefined ? signedInPage(person) : undefined
  } catch (error) {
    if (!isGantryError(error, 'UNAUTHENTICATED')) throw error
    sessions.end(reply)
    return signedOutPage()
  }
}

/** Ends the session; where to end that at the provider. */
async function signOut(
  token: string,
  request: FastifyRequest,
  { pool }: SignInPages,
): Promise<string | undefined> {
  try {
    const options = { requestId: request.id }
    return (await call(await pool.get(token), signIn.out, {}, options)).endSessionUrl
  } catch (error) {
    // It is over already.
    if (isGantryError(error, 'UNAUTHENTICATED')) return undefined
    throw error
  }
}

const docsLink = `<p><a href="${httpServers.platform.docsPath}">REST API reference</a></p>`

const signedInPage = ({ subject, name, roles }: User): string =>
  plainPage(
    title,
    `<p>Signed in as <strong id="who">${escapeHtml(name ?? subject)}</strong> (${escapeHtml(roles.length === 0 ? 'no roles' : roles.join(', '))}).</p>
<form method="post" action="${logoutPath}"><button type="submit">Sign out</button></form>
${docsLink}`,
  )

const signedOutPage = (): string =>
  plainPage(
    title,
    `<p>You are not signed in.</p>
<p><a class="button" href="${loginPath}">Sign in</a></p>
${docsLink}`,
  )

/** Goes on to the provider: whoever sits down at this browser next would be signed in without a password. */
const endingPage = (endSessionUrl: string): string =>
  plainPage(
    title,
    `<p>You are signed out of ${title}. <a href="${escapeHtml(endSessionUrl)}">Sign out at the identity provider as well</a></p>`,
    endSessionUrl,
  )

function sendPage(reply: FastifyReply, html: string): FastifyReply {
  return reply
    .type('text/html; charset=utf-8')
    .header('content-security-policy', `${plainPagePolicy}; form-action 'self'`)
    .send(inScheme(html, cookieOf(reply.request, colorSchemeCookie)))
}

function sendProblem(reply: FastifyReply, error: unknown, request: FastifyRequest, log: Log): FastifyReply {
  const { message, status, requestId } = toGantryError(error, log, request)
  const text = `${message} (request ${requestId ?? request.id})`
  return sendPage(reply.status(status), messagePage('Request failed', text))
}
