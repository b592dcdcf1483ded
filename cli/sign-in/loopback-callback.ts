import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { http } from '../../broker/common/http.ts'
import { messagePage, plainPagePolicy } from '../../subjects/kit/html.ts'
import { loopback, title } from '../../subjects/kit/names.ts'
import { loopbackCallbackPath } from '../../subjects/access/sign-in.ts'

/** Waits on loopback for the browser to come back from the identity provider. */
export interface LoopbackCallback extends AsyncDisposable {
  readonly redirectUri: string
  /** The query of the one request that has this state; others are turned away. */
  wait(state: string): Promise<string>
}

export async function listenForCallback(): Promise<LoopbackCallback> {
  const { promise, resolve } = Promise.withResolvers<string>()
  let expected: string | undefined
  const server = http.createServer((request, response) => {
    const { pathname, search, searchParams } = new URL(request.url ?? '/', redirectUri)
    const state = searchParams.get('state')
    const isIt = pathname === loopbackCallbackPath && state !== null && state === expected
    const text = isIt
      ? 'Continue in the terminal. You can close this page.'
      : 'No sign-in is waiting for this page.'
    response.writeHead(isIt ? 200 : 404, {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': plainPagePolicy,
      'cache-control': 'no-store',
    })
    response.end(messagePage(title, text), () => {
      if (isIt) resolve(search.slice(1))
    })
  })
  server.listen(0, loopback)
  await once(server, 'listening')
  const redirectUri = `http://${loopback}:${(server.address() as AddressInfo).port}${loopbackCallbackPath}`
  return {
    redirectUri,
    wait: (state) => {
      expected = state
      return promise
    },
    [Symbol.asyncDispose]: async () => {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}
