import { createServer } from 'node:http'
import { listenOnLoopback } from './loopback.ts'

/** A service that takes requests with the last of some tokens only, and answers each as it is told. */
export async function startBearerService(
  tokens: readonly string[],
  answer: { readonly headers: Record<string, string>; readonly body: string },
): Promise<AsyncDisposable & { readonly host: string; readonly statuses: readonly number[] }> {
  const statuses: number[] = []
  const server = createServer((request, response) => {
    const isLast = request.headers.authorization === `Bearer ${tokens.at(-1)}`
    statuses.push(isLast ? 200 : 401)
    response.writeHead(isLast ? 200 : 401, answer.headers).end(isLast ? answer.body : '')
  })
  const listening = await listenOnLoopback(server)
  return Object.assign(listening, { host: `127.0.0.1:${listening.port}`, statuses })
}
