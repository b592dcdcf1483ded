import { request } from 'node:http'
import type { HttpServerName } from '../../subjects/kit/names.ts'
import type { TestPlatform } from './platform.ts'

export interface RawAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
  readonly body: Record<string, unknown>
}

export interface RawRequest {
  readonly method?: string
  /** As it stands in the request line: nothing is tidied up, as `fetch` would. */
  readonly path: string
  readonly headers?: Record<string, string | string[]>
  readonly body?: string | Buffer
  /** Address to connect to and from, where it is not that of the server. */
  readonly host?: string
  readonly localAddress?: string
}

/** One HTTP request as it is written here. */
export function rawRequest(
  platform: Pick<TestPlatform, 'httpUrls'>,
  server: HttpServerName,
  { method = 'GET', path, headers = {}, body, host, localAddress }: RawRequest,
): Promise<RawAnswer> {
  const { hostname, port } = new URL(platform.httpUrls[server])
  const { promise, resolve, reject } = Promise.withResolvers<RawAnswer>()
  const where = { host: host ?? hostname, port, ...(localAddress === undefined ? {} : { localAddress }) }
  const asking = request({ ...where, method, path, headers, agent: false }, (response) => {
    let text = ''
    response.setEncoding('utf8')
    response.on('data', (chunk: string) => (text += chunk))
    response.on('end', () =>
      resolve({
        status: response.statusCode ?? 0,
        headers: response.headers,
        text,
        body: jsonOf(text),
      }),
    )
  })
  asking.on('error', reject)
  asking.end(body)
  return promise
}

function jsonOf(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>
  } catch {
    return {}
  }
}
