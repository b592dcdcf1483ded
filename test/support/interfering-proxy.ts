import {
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  request as forward,
  type ServerResponse,
} from 'node:http'
import { buffer } from 'node:stream/consumers'
import { listenOnLoopback } from './loopback.ts'

/** An answer of the server behind, as it is passed on. */
export interface Passed {
  readonly status: number
  readonly headers: OutgoingHttpHeaders
  readonly body: Buffer
}

/**
 * What is done to one request: nothing (undefined), an answer instead of asking the server, or what is made of the
 * server's answer; `lost`: the server has done it, and its answer never arrives.
 */
export type Interference =
  undefined | { readonly instead: Passed } | { readonly after: (answer: Passed) => Passed } | 'lost'

/** Stands between a client and a real server on loopback, and interferes as it is told; gone with the scope. */
export async function startInterferingProxy(
  endpoint: string,
  interfere: (request: IncomingMessage) => Interference | Promise<Interference>,
): Promise<AsyncDisposable & { readonly endpoint: string }> {
  const pass = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await buffer(request)
    const how = await interfere(request)
    const passed =
      typeof how === 'object' && 'instead' in how ? how.instead : await passOn(endpoint, request, body)
    if (how === 'lost') {
      request.socket.destroy()
      return
    }
    const answer = typeof how === 'object' && 'after' in how ? how.after(passed) : passed
    response.writeHead(answer.status, answer.headers).end(answer.body)
  }
  const server = createServer((request, response) => {
    pass(request, response).catch((error: Error) => response.destroy(error))
  })
  const listening = await listenOnLoopback(server)
  return { ...listening, endpoint: `127.0.0.1:${listening.port}` }
}

/** As it came: the signature is over what it says. */
async function passOn(endpoint: string, request: IncomingMessage, body: Buffer): Promise<Passed> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const [host, port] = endpoint.split(':')
  const { method, url, rawHeaders } = request
  forward({ host, port, method, path: url, headers: rawHeaders, agent: false }, resolve)
    .once('error', reject)
    .end(body)
  const answer = await promise
  const { connection: _, 'transfer-encoding': _encoding, ...headers } = answer.headers
  return { status: answer.statusCode ?? 0, headers, body: await buffer(answer) }
}
