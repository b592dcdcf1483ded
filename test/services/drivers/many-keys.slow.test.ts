import { execFile } from 'node:child_process'
import { createServer, type RequestListener } from 'node:http'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import type { FilesystemSpec } from '../../../subjects/filesystems/kinds.ts'
import { listenOnLoopback } from '../../support/loopback.ts'

/** GANTRY_KEYS=10000000 takes some minutes for each store. */
const keys = Number(process.env['GANTRY_KEYS'] ?? 1_000_000)
const keysOfPage = 1_000
/** All names together take many times as much. */
const heapMiB = 48

const child = fileURLToPath(new URL('listing-child.ts', import.meta.url))
const nameOf = (index: number): string =>
  `some file of a large folder ${String(index).padStart(9, '0')}.parquet`
const pageOf = (first: number): number[] =>
  Array.from({ length: Math.min(keysOfPage, keys - first) }, (_, index) => first + index)
const time = '2026-11-25T00:00:00.000Z'

/** Stand for buckets with so many objects; only their listings are there. */
const doubles: Readonly<
  Record<string, { answer: RequestListener; spec: (endpoint: string) => FilesystemSpec }>
> = {
  s3a: {
    spec: (endpoint) => ({
      kind: 's3a',
      options: { bucketName: 'data', endpoint, accessKey: 'key', secretKey: 'secret' },
    }),
    answer: (request, response) => {
      const url = new URL(request.url ?? '', 'http://double')
      const first = Number(url.searchParams.get('continuation-token') ?? 0)
      const next = first + keysOfPage
      const contents = pageOf(first)
        .map(
          (index) =>
            `<Contents><Key>${encodeURIComponent(nameOf(index))}</Key><LastModified>${time}</LastModified><ETag>"0"</ETag><Size>1</Size></Contents>`,
        )
        .join('')
      const more =
        next < keys
          ? `<IsTruncated>true</IsTruncated><NextContinuationToken>${next}</NextContinuationToken>`
          : '<IsTruncated>false</IsTruncated>'
      response
        .writeHead(200, { 'content-type': 'application/xml', 'x-amz-request-id': '1' })
        .end(`<ListBucketResult><EncodingType>url</EncodingType>${more}${contents}</ListBucketResult>`)
    },
  },
  gcs: {
    spec: (endpoint) => ({
      kind: 'gcs',
      options: {
        bucketName: 'data',
        endpoint,
        additionalProperties: { 'fs.gs.auth.type': 'UNAUTHENTICATED' },
      },
    }),
    answer: (request, response) => {
      const url = new URL(request.url ?? '', 'http://double')
      const first = Number(url.searchParams.get('pageToken') ?? 0)
      const next = first + keysOfPage
      const items = pageOf(first).map((index) => ({
        kind: 'storage#object',
        name: nameOf(index),
        size: '1',
        generation: '1',
        metageneration: '1',
        timeCreated: time,
        updated: time,
        crc32c: 'AAAAAA==',
      }))
      const page = { kind: 'storage#objects', items, ...(next < keys && { nextPageToken: String(next) }) }
      response
        .writeHead(200, { 'content-type': 'application/json', 'x-guploader-uploadid': 'u' })
        .end(JSON.stringify(page))
    },
  },
}

test.each(Object.entries(doubles))(
  `a folder of ${keys} keys of %s is listed in ${heapMiB} MiB`,
  async (_kind, { answer, spec }) => {
    const { port, [Symbol.asyncDispose]: dispose } = await listenOnLoopback(createServer(answer))
    try {
      const given = JSON.stringify(spec(`http://127.0.0.1:${port}`))
      const { stdout } = await promisify(execFile)(process.execPath, [
        `--max-old-space-size=${heapMiB}`,
        child,
        given,
      ])
      expect(JSON.parse(stdout)).toEqual({ entries: keys, isInOrder: true })
    } finally {
      await dispose()
    }
  },
  1_200_000,
)
