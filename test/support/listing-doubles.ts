import type { RequestListener } from 'node:http'
import type { FilesystemSpec } from '../../subjects/filesystems/kinds.ts'

export const keysOfPage = 1_000

const nameOf = (index: number): string =>
  `some file of a large folder ${String(index).padStart(9, '0')}.parquet`
const pageOf = (keys: number, first: number): number[] =>
  Array.from({ length: Math.min(keysOfPage, keys - first) }, (_, index) => first + index)
const time = '2026-11-25T00:00:00.000Z'

/** Stands for a bucket with so many objects; only its listings are there. */
export interface ListingDouble {
  readonly answer: RequestListener
  readonly spec: (endpoint: string) => FilesystemSpec
}

/** By kind. */
export const listingDoubles = (keys: number): Readonly<Record<'s3a' | 'gcs', ListingDouble>> => ({
  s3a: {
    spec: (endpoint) => ({
      kind: 's3a',
      options: { bucketName: 'data', endpoint, accessKey: 'key', secretKey: 'secret' },
    }),
    answer: (request, response) => {
      const url = new URL(request.url ?? '', 'http://double')
      const first = Number(url.searchParams.get('continuation-token') ?? 0)
      const next = first + keysOfPage
      const contents = pageOf(keys, first)
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
      const items = pageOf(keys, first).map((index) => ({
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
})
