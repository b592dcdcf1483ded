import { hash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import { S3Driver } from '../../../../services/drivers/s3a/s3a.ts'
import { providers } from '../../../../services/drivers/s3a/providers.ts'
import { readUploads } from '../../../../services/drivers/s3a/xml.ts'
import type { FilesystemOptions } from '../../../../subjects/filesystems/kinds.ts'
import { failureOf, listAll, never } from '../../../conformance/driver-store.ts'
import { listenOnLoopback } from '../../../support/loopback.ts'

/** What a service answers that no server here can be made to: by a server of the test's own. */
async function startService(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
  s3type?: 'MINIO' | 'SEAWEEDFS',
  options: Partial<FilesystemOptions<'s3a'>> = {},
) {
  const requests: IncomingMessage[] = []
  const server = createServer((request, response) => {
    requests.push(request)
    request.resume().on('end', () => answer(request, response.setHeader('x-amz-request-id', '1')))
  })
  const { port, [Symbol.asyncDispose]: dispose } = await listenOnLoopback(server)
  const driver = new S3Driver({
    bucketName: 'data',
    endpoint: `http://127.0.0.1:${port}`,
    accessKey: 'key',
    secretKey: 'top-secret',
    ...(s3type && { s3type }),
    ...options,
    additionalProperties: {
      'fs.s3a.retry.interval': '1',
      'fs.s3a.attempts.maximum': '2',
      ...options.additionalProperties,
    },
  })
  return {
    driver,
    requests,
    [Symbol.asyncDispose]: async () => {
      await driver.close()
      await dispose()
    },
  }
}

const emptyPage = '<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>'
const errorXml = (code: string, more = '') =>
  `<?xml version="1.0"?><Error><Code>${code}</Code>${more}</Error>`
const put = (driver: S3Driver) => driver.put(Buffer.from('file'), Buffer.from('content'), {})

test('a request for another region is signed once more for the one that the service names', async () => {
  await using service = await startService((request, response) => {
    const isRight = request.headers.authorization?.includes('/eu-west-3/s3/')
    if (isRight === true) response.end(emptyPage)
    else response.writeHead(400).end(errorXml('AuthorizationHeaderMalformed', '<Region>eu-west-3</Region>'))
  })
  await service.driver.probe(never)
  await service.driver.probe(never)
  expect(service.requests).toHaveLength(3)
})

test.each([
  [undefined, 'a b.txt', 'c d'],
  ['SEAWEEDFS', 'a+b.txt', 'c+d'],
] as const)(
  'where s3type is %s a plus in a listing stands for what the service means',
  async (s3type, file, folder) => {
    await using service = await startService((_request, response) => {
      response.end(
        '<ListBucketResult><EncodingType>url</EncodingType><IsTruncated>false</IsTruncated><Contents><Key>a+b.txt</Key><Size>1</Size></Contents><Contents><Key>50%25%20%2B</Key><Size>1</Size></Contents><CommonPrefixes><Prefix>c+d/</Prefix></CommonPrefixes></ListBucketResult>',
      )
    }, s3type)
    const entries = await listAll(service.driver, Buffer.alloc(0))
    expect(entries.map(({ name }) => name.toString()).toSorted()).toEqual(['50% +', file, folder].toSorted())
  },
)

test('names of uploads in a listing of SeaweedFS are as they are, whatever it says of them', () => {
  const xml = (key: string) =>
    Buffer.from(
      `<R><EncodingType>url</EncodingType><Upload><Key>${key}</Key><UploadId>1</UploadId></Upload></R>`,
    )
  const { keys } = providers.SEAWEEDFS
  expect(readUploads(xml('50% + %41'), keys!.uploads).uploads).toMatchObject([{ key: '50% + %41' }])
  expect(readUploads(xml('a+b%2B'), 'form').uploads).toMatchObject([{ key: 'a b+' }])
})

const customerKey = Buffer.alloc(32, 7)
const isListing = ({ url = '' }: IncomingMessage) => url.includes('list-type=2')
/** Of Amazon's reference: with SSE-C each request that reads or writes content has the key. */
const customerHeaders = {
  'x-amz-server-side-encryption-customer-algorithm': 'AES256',
  'x-amz-server-side-encryption-customer-key': customerKey.toString('base64'),
  'x-amz-server-side-encryption-customer-key-md5': hash('md5', customerKey, 'base64'),
}

test.each<[string, Partial<FilesystemOptions<'s3a'>>, Record<string, string>, Record<string, string>]>([
  [
    'SSE-S3',
    { additionalProperties: { 'fs.s3a.encryption.algorithm': 'AES256' } },
    { 'x-amz-server-side-encryption': 'AES256' },
    {},
  ],
  [
    'SSE-KMS',
    {
      additionalProperties: { 'fs.s3a.encryption.algorithm': 'SSE-KMS', 'fs.s3a.encryption.key': 'arn:key' },
    },
    { 'x-amz-server-side-encryption': 'aws:kms', 'x-amz-server-side-encryption-aws-kms-key-id': 'arn:key' },
    {},
  ],
  [
    'SSE-C',
    {
      customerKey: customerKey.toString('base64'),
      additionalProperties: { 'fs.s3a.encryption.algorithm': 'SSE-C' },
    },
    customerHeaders,
    customerHeaders,
  ],
  [
    'a storage class, an ACL and tags',
    {
      additionalProperties: {
        'fs.s3a.create.storage.class': 'standard_ia',
        'fs.s3a.acl.default': 'BucketOwnerFullControl',
        'fs.s3a.create.tags': 'project=lake',
      },
    },
    {
      'x-amz-storage-class': 'STANDARD_IA',
      'x-amz-acl': 'bucket-owner-full-control',
      'x-amz-tagging': 'project=lake',
    },
    {},
  ],
  [
    'requester pays',
    { additionalProperties: { 'fs.s3a.requester.pays.enabled': 'true' } },
    { 'x-amz-request-payer': 'requester' },
    { 'x-amz-request-payer': 'requester' },
  ],
])(
  '%s: what is made, and what is read, is asked for with its headers',
  async (_name, options, made, read) => {
    const initiated = '<InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>'
    await using service = await startService(
      (request, response) => {
        if (isListing(request)) response.end(emptyPage)
        else if (request.method === 'POST') response.end(initiated)
        else if (request.method === 'HEAD' || request.method === 'GET')
          response.writeHead(200, { etag: '"1"', 'content-length': '7' }).end('content')
        else response.setHeader('etag', '"1"').end()
      },
      undefined,
      options,
    )
    await put(service.driver)
    const plan = { sizeBytes: 20 * 2 ** 20, tag: 'test', attributes: {} }
    await service.driver.beginUpload(Buffer.from('large'), plan)
    const file = await service.driver.open(Buffer.from('file'))
    expect((await file.read(0, 7)).toString()).toBe('content')
    await file.close()
    const [making, others] = [[], []] as [IncomingMessage[], IncomingMessage[]]
    for (const request of service.requests.filter((one) => !isListing(one))) {
      const isMaking = ['PUT', 'POST'].includes(request.method!) && !request.url!.includes('partNumber=')
      ;(isMaking ? making : others).push(request)
    }
    expect(making.map(({ method }) => method)).toEqual(['PUT', 'POST'])
    for (const { headers } of making) expect(headers).toMatchObject(made)
    // Parts, too, of which one tells later what the upload is of.
    expect(others.map(({ method }) => method)).toEqual(expect.arrayContaining(['PUT', 'GET']))
    for (const { headers } of others) expect(headers).toMatchObject(read)
  },
)

test('with SSE-C the parts of an upload are asked for with the key: services tell their digests to nobody else', async () => {
  await using service = await startService(
    (_request, response) =>
      response.end('<ListPartsResult><IsTruncated>false</IsTruncated></ListPartsResult>'),
    undefined,
    {
      customerKey: customerKey.toString('base64'),
      additionalProperties: { 'fs.s3a.encryption.algorithm': 'SSE-C' },
    },
  )
  expect(await service.driver.writtenParts({ token: 'ZmlsZQ.aWQ.1', sizeBytes: 1 }, 1)).toEqual([])
  expect(service.requests.at(0)?.headers).toMatchObject(customerHeaders)
})

test('a region that could be more than that is not used', async () => {
  await using service = await startService((_request, response) => {
    response.setHeader('x-amz-bucket-region', 'evil.example/').writeHead(403).end(errorXml('AccessDenied'))
  })
  await expect(service.driver.probe(never)).rejects.toMatchObject({ failure: 'permission' })
  expect(service.requests).toHaveLength(1)
  expect(service.requests[0]?.headers.authorization).toContain('/us-east-1/s3/')
})

test('a service that lists parts without an end is not listened to for ever', async () => {
  const parts = Array.from({ length: 1_000 }, () => '<Part><PartNumber>1</PartNumber></Part>').join('')
  const page = (marker: number) =>
    `<ListPartsResult>${parts}<IsTruncated>true</IsTruncated><NextPartNumberMarker>${marker}</NextPartNumberMarker></ListPartsResult>`
  await using service = await startService((request, response) => {
    if (service.requests.length > 100) request.destroy()
    else response.end(page(service.requests.length))
  })
  const upload = { token: 'ZmlsZQ.aWQ.1', sizeBytes: 1 }
  await expect(service.driver.writtenParts(upload, 1)).rejects.toThrow('more parts than an upload has')
  expect(service.requests.length).toBeLessThan(20)
})

test('a listing of objects that begins again where it began is none', async () => {
  const page = emptyPage
    .replace('false', 'true')
    .replace('</ListB', '<NextContinuationToken>a</NextContinuationToken></ListB')
  await using service = await startService((request, response) => {
    if (service.requests.length > 100) request.destroy()
    else response.end(page)
  })
  expect(await failureOf(listAll(service.driver, Buffer.alloc(0)))).toBe('io')
  expect(service.requests.length).toBeLessThan(4)
})

test('a listing of uploads that begins again where it began is none', async () => {
  const page =
    '<ListMultipartUploadsResult><IsTruncated>true</IsTruncated><NextKeyMarker>a</NextKeyMarker><NextUploadIdMarker>1</NextUploadIdMarker></ListMultipartUploadsResult>'
  await using service = await startService((request, response) => {
    if (service.requests.length > 100) request.destroy()
    else response.end(page)
  })
  const sweep = service.driver.leftovers.sweep(Buffer.alloc(0), 'tag', [], () => true)
  await expect(sweep).rejects.toThrow('would never end')
  expect(service.requests.length).toBeLessThan(4)
})

test('a listing that goes on nowhere is not taken for its end', async () => {
  const page =
    '<ListBucketResult><IsTruncated>true</IsTruncated><NextMarker>a</NextMarker><Contents><Key>a</Key><Size>1</Size></Contents></ListBucketResult>'
  await using service = await startService((_request, response) => response.end(page))
  expect(await failureOf(listAll(service.driver, Buffer.alloc(0)))).toBe('io')
})

test('an empty page says nothing about whether a folder is there', async () => {
  await using service = await startService((request, response) => {
    if (request.method === 'HEAD') response.writeHead(404).end()
    else if (request.url?.includes('continuation-token=a') === true)
      response.end(
        '<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>folder/a</Key></Contents></ListBucketResult>',
      )
    else
      response.end(
        '<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>a</NextContinuationToken></ListBucketResult>',
      )
  })
  expect(await service.driver.stat(Buffer.from('folder'))).toMatchObject({ type: 'folder' })
})

test('what was there before an upload is not taken for what came of it', async () => {
  await using service = await startService((request, response) => {
    if (request.method !== 'HEAD') response.writeHead(404).end(errorXml('NoSuchUpload'))
    else
      response
        .writeHead(200, {
          etag: '"d41d8cd98f00b204e9800998ecf8427e-2"',
          'content-length': '6',
          'last-modified': new Date().toUTCString(),
          'x-amz-meta-mtime': '1000000000.000000000',
        })
        .end()
  })
  const begun = { token: `ZmlsZQ.aWQ.${Date.now() - 3_600_000}`, sizeBytes: 6 }
  const commit = (modifiedMs: number) => service.driver.commitUpload(begun, 2, { modifiedMs })
  expect(await failureOf(commit(2_000_000_000_000))).toBe('corrupt')
  // The answer to a commit was lost.
  expect(await commit(1_000_000_000_000)).toEqual([])
})

test('throttling is waited for, and an error in an answer that began well is one', async () => {
  let answers = 0
  await using service = await startService((request, response) => {
    if (request.method === 'GET') response.end(emptyPage)
    else if (++answers === 1) response.writeHead(503).end(errorXml('SlowDown'))
    else if (answers === 2) response.end(errorXml('InternalError'))
    else response.end()
  })
  await put(service.driver)
  expect(answers).toBe(3)
})

test('throttling without end is told as such', async () => {
  await using service = await startService((_request, response) => {
    response.writeHead(503).end(errorXml('SlowDown'))
  })
  await expect(put(service.driver)).rejects.toMatchObject({ failure: 'throttled' })
  expect(service.requests).toHaveLength(3)
})

test('content that the service has another digest of is corrupt', async () => {
  await using service = await startService((request, response) => {
    if (request.method === 'PUT') response.setHeader('x-amz-checksum-sha256', `${'A'.repeat(43)}=`)
    response.end(request.method === 'PUT' ? '' : emptyPage)
  })
  await expect(put(service.driver)).rejects.toMatchObject({ failure: 'corrupt' })
})

test('a clock that is wrong is made up for', async () => {
  const aheadMs = 3_600_000
  await using service = await startService((request, response) => {
    const now = new Date(Date.now() + aheadMs)
    response.sendDate = false
    response.setHeader('date', now.toUTCString())
    const hour = now.toISOString().slice(0, 13).replaceAll('-', '')
    if (String(request.headers['x-amz-date']).startsWith(hour)) response.end(emptyPage)
    else response.writeHead(403).end(errorXml('RequestTimeTooSkewed'))
  })
  await service.driver.probe(never)
  expect(service.requests.length).toBeLessThanOrEqual(2)
})

test('whatever else answers is no S3 service, and what it is stays unsaid', async () => {
  await using service = await startService((_request, response) => {
    response.removeHeader('x-amz-request-id')
    response.writeHead(200, { 'content-type': 'text/html' }).end('<html>the router</html>')
  })
  await expect(service.driver.probe(never)).rejects.toThrow(
    /127\.0\.0\.1:\d+ is no S3 endpoint that can be reached/,
  )
})

test('XML with entities of its own is refused', async () => {
  const bomb =
    '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><ListBucketResult><Contents><Key>&b;</Key></Contents></ListBucketResult>'
  await using service = await startService((_request, response) => response.end(bomb))
  const listed = Array.fromAsync(service.driver.list(Buffer.alloc(0), never))
  await expect(listed).rejects.toMatchObject({ failure: 'io' })
})

test.each([
  ['another object', '"b"', 'changed'],
  ['the same object', '"a"', true],
] as const)(
  'a delete that no condition protects is repeated after a look alone: %s',
  async (_, etag, outcome) => {
    let deletes = 0
    await using service = await startService((request, response) => {
      const seen = { etag: deletes === 0 ? '"a"' : etag, 'last-modified': new Date(0).toUTCString() }
      if (request.method === 'HEAD') response.writeHead(200, { ...seen, 'content-length': '1' }).end()
      else response.writeHead(++deletes === 1 ? 503 : 204).end()
    }, 'MINIO')
    const path = Buffer.from('file')
    const version = await service.driver.version(path)
    const removal = service.driver.removeVersion(path, version!)
    expect(outcome === true ? await removal : await failureOf(removal)).toBe(outcome)
    expect(deletes).toBe(outcome === true ? 2 : 1)
  },
)

test.each<[string, number, Record<string, string>]>([
  ['another range', 206, { etag: '"1"', 'content-range': 'bytes 0-9/100' }],
  ['another version', 206, { etag: '"2"', 'content-range': 'bytes 10-19/100' }],
  ['no version', 206, { 'content-range': 'bytes 10-19/100' }],
  ['the beginning', 200, { etag: '"1"' }],
])('%s of the right length is not taken for what was asked for', async (_what, status, headers) => {
  await using service = await startService((request, response) => {
    if (request.headers.range === 'bytes=10-19') response.writeHead(status, headers).end('0123456789')
    else response.writeHead(206, { etag: '"1"', 'content-range': 'bytes 0-0/100' }).end('x')
  })
  const file = await service.driver.open(Buffer.from('file'), { contentLater: true })
  const taken: string[] = []
  const take = (bytes: Buffer) => void taken.push(bytes.toString())
  expect(await failureOf(file.pour(10, 10, take))).toBe('changed')
  expect(taken).toEqual([])
})

test.each([
  ['another range', 'bytes 10-13/100'],
  ['another length than it says', 'bytes 0-9/10'],
  ['no range', undefined],
])('the beginning of a file is not taken from an answer with %s', async (_what, range) => {
  await using service = await startService((_request, response) => {
    response.writeHead(206, { etag: '"1"', ...(range && { 'content-range': range }) }).end('0123')
  })
  expect(await failureOf(service.driver.open(Buffer.from('file')))).toBe('changed')
})

test('a file is created only where none is, as far as the service makes sure of that', async () => {
  const create = async (status: number, code: string) => {
    await using service = await startService((request, response) => {
      if (request.method === 'GET') return response.end(emptyPage)
      return request.headers['if-none-match'] === '*' && request.method === 'PUT'
        ? response.writeHead(status).end(errorXml(code))
        : response.writeHead(404).end()
    })
    return await failureOf(service.driver.putNew!(Buffer.from('file'), Buffer.from('content'), {}))
  }
  expect(await create(412, 'PreconditionFailed')).toBe('changed')
  expect(await create(409, 'ConditionalRequestConflict')).toBe('changed')
  expect(await create(501, 'NotImplemented')).toBe('unsupported')
  await using unsure = await startService(() => undefined, 'SEAWEEDFS')
  expect(unsure.driver.putNew).toBeUndefined()
})

/** A service with an object of 6 GiB, whose parts it copies up to one. */
const withLarge = (headers: Record<string, string>, copies = 6) => {
  const parts = [1, 2, 3, 4, 5, 6].map(
    (number) =>
      `<Part><PartNumber>${number}</PartNumber><Size>${2 ** 30}</Size><ETag>"${number}"</ETag></Part>`,
  )
  return startService(
    ({ method, url = '' }, response) => {
      const [, part = 0] = /partNumber=(\d)/.exec(url) ?? []
      if (method === 'HEAD')
        response.writeHead(200, { ...headers, etag: '"1"', 'content-length': 6 * 2 ** 30 }).end()
      else if (Number(part) > copies) response.writeHead(403).end(errorXml('AccessDenied'))
      else if (url.includes('uploads=')) response.end('<R><UploadId>1</UploadId></R>')
      else if (method === 'GET') response.end(`<R>${parts.join('')}</R>`)
      else response.end('<R><ETag>"1"</ETag></R>')
    },
    undefined,
    { additionalProperties: { 'fs.s3a.create.storage.class': 'standard_ia' } },
  )
}

test('an object that is too large for one copy keeps what browsers are told of it when its attributes change', async () => {
  const kept = { 'content-type': 'text/csv', 'cache-control': 'no-store', 'x-amz-meta-origin': 'lake' }
  await using service = await withLarge(kept)
  await service.driver.setAttributes(Buffer.from('file'), { modifiedMs: 1_000 })
  const begun = service.requests.find(({ url }) => url?.includes('uploads='))
  expect(begun?.headers).toMatchObject({
    ...kept,
    'x-amz-meta-mtime': '1.000000000',
    'x-amz-storage-class': 'STANDARD_IA',
  })
  expect(service.requests.filter(({ url }) => url?.includes('partNumber='))).toHaveLength(6)
})

test('a copy in parts that gets no further leaves no upload behind', async () => {
  await using service = await withLarge({}, 2)
  expect(await failureOf(service.driver.setAttributes(Buffer.from('file'), { modifiedMs: 1_000 }))).toBe('io')
  expect(service.requests.at(-1)).toMatchObject({
    method: 'DELETE',
    url: expect.stringMatching(/uploadId=1/),
  })
})
