import type { FastifyReply, FastifyRequest } from 'fastify'
import { GantryError } from '../../subjects/kit/errors.ts'
import { loginPath, product } from '../../subjects/kit/names.ts'
import { maxSessionHours } from '../../subjects/access/settings.ts'
import { refreshAgainMs } from '../../subjects/access/sign-in.ts'

/** A session, as the contracts of sign-in tell of it. */
interface Session {
  readonly token: string
  readonly expires: string
  /** From when on to refresh it; undefined: never. */
  readonly refreshAfter?: string | undefined
}

/**
 * Cookies of browsers: the session of somebody who has signed in with the time to refresh it, and the flow of somebody who is about to. They hold
 * what is said here and nothing else. A cookie comes along with every request of the browser, whoever caused it, so a
 * session counts only where the request shows that a page of the platform did.
 */
export class BrowserSessions {
  readonly #origin: string
  readonly #attributes: string
  readonly #session: string
  readonly #refresh: string
  readonly #flow = `${product}-sign-in`
  /** Requests whose session turned out to be over. */
  readonly #over = new WeakSet<FastifyRequest>()

  /** @param publicUrl where browsers reach the platform */
  constructor(publicUrl: string) {
    this.#origin = new URL(publicUrl).origin
    const isSecure = publicUrl.startsWith('https:')
    this.#attributes = `; HttpOnly${isSecure ? '; Secure' : ''}`
    // With this prefix no other server of the domain can set the cookie.
    const prefix = isSecure ? '__Host-' : ''
    this.#session = `${prefix}${product}-session`
    this.#refresh = `${prefix}${product}-refresh`
  }

  /** The token of the session in the cookie: for pages, which no other page can read, wherever the visitor comes from. */
  heldBy(request: FastifyRequest): string | undefined {
    return this.#over.has(request) ? undefined : cookieOf(request, this.#session)
  }

  /**
   * The same for all else.
   * @throws GantryError UNAUTHENTICATED when a page of another origin may have caused the request
   */
  tokenOf(request: FastifyRequest): string | undefined {
    const token = this.heldBy(request)
    if (token === undefined || this.isOwn(request)) return token
    throw new GantryError(
      'UNAUTHENTICATED',
      'session cookies are accepted only from pages of this platform; send the header Authorization: Bearer <API token>',
    )
  }

  /**
   * Whether no page of another origin can have caused a request. Browsers send `Origin` with all that may change something,
   * and `Sec-Fetch-Site` with all where nobody can listen.
   */
  isOwn({ method, headers }: FastifyRequest): boolean {
    const { origin, 'sec-fetch-site': site } = headers
    if (origin !== undefined && origin !== this.#origin) return false
    if (site !== undefined && site !== 'same-origin') return false
    return method === 'GET' || method === 'HEAD' || origin !== undefined
  }

  /** Whether the session is to be refreshed by now, as the browser was told to say. */
  isDue(request: FastifyRequest): boolean {
    const after = cookieOf(request, this.#refresh)
    return after !== undefined && Date.parse(after) <= Date.now()
  }

  /** A session that has begun, or was refreshed. */
  begin(reply: FastifyReply, { token, expires, refreshAfter }: Session): void {
    this.#set(reply, `${this.#session}=${token}; Path=/; SameSite=Strict; ${until(expires)}`)
    if (refreshAfter === undefined) this.cannotRefresh(reply)
    else this.#refreshAfter(reply, refreshAfter)
  }

  end(reply: FastifyReply): void {
    this.#set(reply, `${this.#session}=; Path=/; SameSite=Strict; Max-Age=0`)
    this.cannotRefresh(reply)
  }

  /** The same in the middle of a request, which goes on as one of nobody. */
  endWith(request: FastifyRequest, reply: FastifyReply): void {
    this.#over.add(request)
    this.end(reply)
  }

  refreshLater(reply: FastifyReply): void {
    this.#refreshAfter(reply, new Date(Date.now() + refreshAgainMs).toISOString())
  }

  cannotRefresh(reply: FastifyReply): void {
    this.#set(reply, `${this.#refresh}=; Path=/; SameSite=Strict; Max-Age=0`)
  }

  #refreshAfter(reply: FastifyReply, time: string): void {
    // It means nothing without the session, and may outlast it.
    this.#set(reply, `${this.#refresh}=${time}; Path=/; SameSite=Strict; Max-Age=${maxSessionHours * 3_600}`)
  }

  flowOf(request: FastifyRequest): string | undefined {
    return cookieOf(request, this.#flow)
  }

  /** For the paths of the sign-in alone; Lax, as the provider's redirect must bring it along. */
  beginFlow(reply: FastifyReply, flow: string, expires: string): void {
    this.#set(reply, `${this.#flow}=${flow}; Path=${loginPath}; SameSite=Lax; ${until(expires)}`)
  }

  endFlow(reply: FastifyReply): void {
    this.#set(reply, `${this.#flow}=; Path=${loginPath}; SameSite=Lax; Max-Age=0`)
  }

  #set(reply: FastifyReply, cookie: string): void {
    // Fastify adds this header to those that are there.
    reply.header('set-cookie', `${cookie}${this.#attributes}`)
  }
}

const until = (expires: string): string => `Expires=${new Date(expires).toUTCString()}`

export function cookieOf({ headers }: FastifyRequest, name: string): string | undefined {
  const pairs = (headers.cookie ?? '').split(';').map((pair) => pair.trim())
  const found = pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1)
  return found === '' ? undefined : found
}
