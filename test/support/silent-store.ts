import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { FilesystemKind, FilesystemSpec } from '../../subjects/filesystems/kinds.ts'
import { listenOnLoopback } from './loopback.ts'

/** Kinds of stores that are asked over HTTP. */
export const httpKinds = ['s3a', 'gcs', 'adls2-shared-key', 'hdfs'] as const satisfies FilesystemKind[]
type HttpKind = (typeof httpKinds)[number]

interface Answer {
  readonly headers: Readonly<Record<string, string>>
  /** Undefined for content of the file. */
  readonly json?: object
}

/** How a service says that it has one file, and what it sends before the content of it. */
const answers: { readonly [K in HttpKind]: (url: URL, sizeBytes: number) => Answer } = {
  s3a: () => ({ headers: { 'x-amz-request-id': '1', etag: '"1"', 'last-modified': time } }),
  gcs: (url, sizeBytes) =>
    url.searchParams.get('alt') === 'media'
      ? { headers: { 'x-goog-generation': '1' } }
      : {
          headers: {},
          json: {
            kind: 'storage#object',
            name: 'file',
            size: String(sizeBytes),
            generation: '1',
            metageneration: '1',
          },
        },
  'adls2-shared-key': () => ({ headers: { 'x-ms-request-id': '1', etag: '"1"', 'last-modified': time } }),
  hdfs: (url, sizeBytes) =>
    url.searchParams.get('op') === 'OPEN'
      ? { headers: { 'content-type': 'application/octet-stream' } }
      : {
          headers: {},
          json: {
            FileStatus: {
              pathSuffix: '',
              type: 'FILE',
              length: sizeBytes,
              modificationTime: 1,
              permission: '644',
              owner: 'a',
              group: 'b',
              fileId: 7,
            },
          },
        },
}

/** So little that a client has it all before anybody looks. */
const shownBytes = 1_000
const time = 'Sat, 28 Nov 2026 12:00:00 GMT'

function specAt(kind: HttpKind, port: number): FilesystemSpec {
  switch (kind) {
    case 's3a': {
      const key = { accessKey: 'key', secretKey: 'secret' }
      return { kind, options: { bucketName: 'data', endpoint: `http://127.0.0.1:${port}`, ...key } }
    }
    case 'gcs':
      return {
        kind,
        options: {
          bucketName: 'data',
          endpoint: `http://127.0.0.1:${port}`,
          additionalProperties: { 'fs.gs.auth.type': 'UNAUTHENTICATED' },
        },
      }
    case 'hdfs':
      return { kind, options: { defaultFS: `webhdfs://127.0.0.1:${port}` } }
    case 'adls2-shared-key':
      return {
        kind,
        options: {
          accountName: 'account',
          containerName: 'data',
          sharedKey: 'a2V5',
          endpoint: `127.0.0.1:${port}`,
          insecure: true,
          additionalProperties: { 'fs.azure.account.hns.enabled': 'false' },
        },
      }
  }
}

/**
 * A store with a file that says all of it but its content, of which the beginning comes, and then nothing; or says nothing at all.
 * Gone with the scope.
 * @param saysNothing it takes requests and answers none
 */
export async function silentStore(kind: HttpKind, sizeBytes: number, saysNothing = false) {
  /** Answers that have not come to their end, and whose connection is there. */
  const open = new Set<ServerResponse>()
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    const url = new URL(request.url ?? '', 'http://store')
    const { headers, json } = answers[kind](url, sizeBytes)
    const hold = () => {
      open.add(response)
      response.once('close', () => open.delete(response))
    }
    if (saysNothing) return hold()
    if (json !== undefined)
      return void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(json))
    if (request.method === 'HEAD')
      return void response.writeHead(200, { ...headers, 'content-length': sizeBytes }).end()
    const { range = request.headers['x-ms-range'] } = request.headers
    const [, from = 0, to = sizeBytes - 1] = (/^bytes=(\d+)-(\d+)$/.exec(String(range)) ?? []).map(Number)
    const last = Math.min(to, sizeBytes - 1)
    const length = last - from + 1
    response.writeHead(range === undefined ? 200 : 206, {
      ...headers,
      'content-length': length,
      ...(range !== undefined && { 'content-range': `bytes ${from}-${last}/${sizeBytes}` }),
    })
    response.write(Buffer.alloc(shownBytes), hold)
  }
  const server = createServer((request, response) => {
    request.resume().on('end', () => answer(request, response))
  })
  const { port, [Symbol.asyncDispose]: dispose } = await listenOnLoopback(server)
  return { spec: specAt(kind, port), openAnswers: () => open.size, [Symbol.asyncDispose]: dispose }
}
