import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { afterEach, expect, test, vi } from 'vitest'
import { HdfsDriver } from '../../../../services/drivers/hdfs/hdfs.ts'
import { withinJob } from '../../../../services/drivers/http/job-signal.ts'
import { failureOf, listAll, never } from '../../../conformance/driver-store.ts'
import { listenOnLoopback } from '../../../support/loopback.ts'
import { until } from '../../../support/until.ts'

/** What a cluster answers that none here can be made to: by a server of the test's own. */
async function startService(answer: (request: IncomingMessage, response: ServerResponse, url: URL) => void) {
  const requests: string[] = []
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://cluster')
    requests.push(url.searchParams.get('op') ?? '')
    request.resume().on('end', () => answer(request, response, url))
  })
  const { port, [Symbol.asyncDispose]: dispose } = await listenOnLoopback(server)
  const driver = new HdfsDriver({
    defaultFS: `webhdfs://127.0.0.1:${port}`,
    additionalProperties: {
      'dfs.http.client.retry.max.attempts': '2',
      'dfs.http.client.failover.sleep.base.millis': '1',
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

const json = (response: ServerResponse, status: number, body: unknown) =>
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
const failed = (
  response: ServerResponse,
  status: number,
  exception: string,
  message = 'why\n\tat stack.trace',
) => json(response, status, { RemoteException: { exception, javaClassName: `org.${exception}`, message } })
const status = {
  pathSuffix: '',
  type: 'FILE',
  length: 3,
  modificationTime: 1,
  permission: '644',
  owner: 'a',
  group: 'b',
  fileId: 7,
}
const path = Buffer.from('file')

test.each([
  [404, 'FileNotFoundException', undefined],
  [403, 'ParentNotDirectoryException', undefined],
  [403, 'AccessControlException', 'permission'],
  [401, 'AuthenticationException', 'refused'],
  [403, 'SafeModeException', 'unreachable'],
  [403, 'StandbyException', 'unreachable'],
  [403, 'DSQuotaExceededException', 'full'],
  [500, 'RuntimeException', 'unreachable'],
])('%i %s is %s', async (code, exception, failure) => {
  await using service = await startService((_request, response) => failed(response, code, exception))
  const asked = service.driver.stat(path)
  if (failure === undefined) expect(await asked).toBeUndefined()
  else {
    expect(await failureOf(asked)).toBe(failure)
    await expect(service.driver.stat(path)).rejects.toThrow(/: why/)
    await expect(service.driver.stat(path)).rejects.not.toThrow(/stack\.trace/)
  }
})

test('404 of something that is no cluster is not taken for a file that is gone', async () => {
  await using service = await startService((_request, response) => response.writeHead(404).end('<html>'))
  expect(await failureOf(service.driver.stat(path))).toBe('unreachable')
})

test.each([
  [
    'a sign-in page',
    (response: ServerResponse) => response.setHeader('content-type', 'text/html').end('<html>'),
  ],
  ['no status', (response: ServerResponse) => json(response, 200, { FileStatus: { type: 'FILE' } })],
  [
    'a size that is none',
    (response: ServerResponse) => json(response, 200, { FileStatus: { ...status, length: 1e300 } }),
  ],
  [
    'half of it',
    (response: ServerResponse) => response.setHeader('content-type', 'application/json').end('{"File'),
  ],
  [
    'what is nested deeply',
    (response: ServerResponse) => response.setHeader('content-type', 'application/json').end('['.repeat(1e6)),
  ],
])('%s is not taken for an answer', async (_name, answer) => {
  await using service = await startService((_request, response) => answer(response))
  expect(await failureOf(service.driver.stat(path))).toBe('unreachable')
})

test.each([
  'http://127.0.0.1:1/etc/passwd',
  'https://127.0.0.1:1/webhdfs/v1/file?op=OPEN',
  'file:///webhdfs/v1/file?op=OPEN',
  'http://user@127.0.0.1:1/webhdfs/v1/file?op=OPEN',
  '/webhdfs/v1/file?op=OPEN',
  'http://127.0.0.1:1/webhdfs/v1/../../file?op=OPEN@x y',
])('a redirection to %s is not followed', async (location) => {
  await using service = await startService((_request, response, url) => {
    if (url.searchParams.get('op') === 'GETFILESTATUS') json(response, 200, { FileStatus: status })
    else response.writeHead(307, { location }).end()
  })
  const file = await service.driver.open(path)
  await expect(file.read(0, 3)).rejects.toThrow(/redirects to what is no data node/)
})

test('what a data node was given wrong is corrupt, and nothing takes the name of the file', async () => {
  let content = 'other'
  await using service = await startService((request, response, url) => {
    const op = url.searchParams.get('op')
    const here = `http://${request.headers.host}/webhdfs/v1/x?op=${op}&data=true`
    if (op === 'CREATE' || op === 'GETFILECHECKSUM' || op === 'OPEN') {
      if (!url.searchParams.has('data')) response.writeHead(307, { location: here }).end()
      else if (op === 'CREATE') response.writeHead(201).end()
      else if (op === 'OPEN') response.setHeader('content-type', 'application/octet-stream').end(content)
      else
        json(response, 200, {
          FileChecksum: { algorithm: 'MD5-of-0MD5-of-512CRC32C', bytes: '00'.repeat(28), length: 28 },
        })
    } else if (op === 'GETFILESTATUS') json(response, 200, { FileStatus: { ...status, length: 5 } })
    else json(response, 200, { boolean: true })
  })
  const put = () => service.driver.put(path, Buffer.from('right'), {})
  expect(await failureOf(put())).toBe('corrupt')
  expect(service.requests).not.toContain('RENAME')
  expect(service.requests.at(-1)).toBe('DELETE')
  // The checksum of what is encrypted is not of its content: then that is read.
  content = 'right'
  await put()
  expect(service.requests.at(-1)).toBe('RENAME')
})

test('a renaming whose answer was lost is not taken for a file that is gone', async () => {
  let renamed = 0
  await using service = await startService((request, response, url) => {
    const op = url.searchParams.get('op')
    if (op === 'CREATE' && !url.searchParams.has('data'))
      response
        .writeHead(307, { location: `http://${request.headers.host}/webhdfs/v1/x?op=CREATE&data=true` })
        .end()
    else if (op === 'CREATE') response.writeHead(201).end()
    else if (op === 'RENAME' && renamed++ === 0) response.destroy()
    else if (op === 'RENAME') failed(response, 404, 'FileNotFoundException')
    else if (url.pathname.includes('gantry~') && renamed > 0) failed(response, 404, 'FileNotFoundException')
    else json(response, 200, { FileStatus: { ...status, length: 0 } })
  })
  await service.driver.put(path, Buffer.alloc(0), {})
  expect(renamed).toBe(2)
})

test.each([
  ['does not say how many entries remain', [{ ...status, pathSuffix: 'a' }], undefined],
  ['says that entries remain, and has none', [], 7],
])('a page that %s is not the last', async (_what, listed, remainingEntries) => {
  await using service = await startService((_request, response) =>
    json(response, 200, {
      DirectoryListing: { partialListing: { FileStatuses: { FileStatus: listed } }, remainingEntries },
    }),
  )
  expect(await failureOf(listAll(service.driver, Buffer.from('folder')))).toBe('unreachable')
})

test('a cluster without pages is listed at once, and gone on with after a name', async () => {
  const names = ['a', 'b', 'c']
  await using service = await startService((_request, response, url) => {
    if (url.searchParams.get('op') === 'LISTSTATUS_BATCH') failed(response, 400, 'IllegalArgumentException')
    else
      json(response, 200, {
        FileStatuses: { FileStatus: names.map((pathSuffix) => ({ ...status, pathSuffix })) },
      })
  })
  const list = async (after?: string) =>
    (await Array.fromAsync(service.driver.list(path, never, after === undefined ? {} : { after }))).flatMap(
      ({ entries }) => entries.map(({ name }) => name.toString()),
    )
  expect(await list()).toEqual(names)
  expect(await list('a')).toEqual(['b', 'c'])
})

test('how a root is kept is told, also by clusters that know no storage policies', async () => {
  const root = { ...status, type: 'DIRECTORY', ecBit: true, ecPolicy: 'RS-6-3-1024k', encBit: true }
  await using service = await startService((_request, response, url) =>
    url.searchParams.get('op') === 'GETFILESTATUS'
      ? json(response, 200, { FileStatus: root })
      : failed(response, 400, 'IllegalArgumentException'),
  )
  expect(await service.driver.describe(never)).toBe(
    'its root: erasure coding RS-6-3-1024k, an encryption zone',
  )
})

test('a file that a try before has written over, once that came through, does not stay for the right one', async () => {
  let [created, isOvertaken] = [0, true]
  await using service = await startService((request, response, url) => {
    const op = url.searchParams.get('op')
    const here = `http://${request.headers.host}/webhdfs/v1/x?op=CREATE&data=true`
    if (op === 'CREATE' && !url.searchParams.has('data')) response.writeHead(307, { location: here }).end()
    else if (op === 'CREATE' && created++ === 0) response.destroy()
    else if (op === 'CREATE') response.writeHead(201).end()
    else if (op === 'GETFILESTATUS') {
      const isInPlace = !url.pathname.includes('gantry~') && isOvertaken
      json(response, 200, { FileStatus: { ...status, length: 0, ...(isInPlace && { fileId: 8 }) } })
    } else json(response, 200, { boolean: true })
  })
  const put = () => service.driver.put(path, Buffer.alloc(0), {})
  expect(await failureOf(put())).toBe('unreachable')
  ;[created, isOvertaken] = [0, false]
  await put()
  // What the try before may make yet is removed again and again.
  expect(service.requests.at(-1)).toBe('DELETE')
})

test('what is no WebHDFS is told with the port that was asked, which nobody has to have given', async () => {
  await using service = await startService((_request, response) => void response.writeHead(200).end('<html>'))
  await expect(service.driver.probe(never)).rejects.toThrow(/127\.0\.0\.1:\d+ is no WebHDFS endpoint/)
})

test('a page of the right length is not taken for what a file has, and what cannot be taken is told as it is', async () => {
  let type = 'text/html'
  await using service = await startService((_request, response, url) => {
    if (url.searchParams.get('op') === 'OPEN') response.writeHead(200, { 'content-type': type }).end('abc')
    else json(response, 200, { FileStatus: { ...status, modificationTime: Date.now() } })
  })
  const taken: string[] = []
  const file = await service.driver.open(path)
  expect(await failureOf(file.pour!(0, 3, (bytes) => void taken.push(bytes.toString())))).toBe('changed')
  expect(taken).toEqual([])
  type = 'application/octet-stream'
  const full = new Error('there is no space')
  const pouring = (await service.driver.open(path)).pour!(0, 3, () => {
    throw full
  })
  await expect(pouring).rejects.toBe(full)
})

afterEach(() => void vi.useRealTimers())

test.each(['RENAME', 'DELETE'])(
  'a file whose removal is broken off at %s does not stay under the name that it was given for that',
  async (silent) => {
    const names = new Set(['file'])
    let isSilent = true
    await using service = await startService((_request, response, url) => {
      const op = url.searchParams.get('op')
      const name = decodeURIComponent(url.pathname.slice('/webhdfs/v1/'.length))
      const isThere = names.has(name)
      if (op === 'RENAME' && isThere) {
        names.delete(name)
        names.add(url.searchParams.get('destination')!.slice(1))
      }
      if (op === silent && isSilent) {
        isSilent = false
        return
      }
      if (op === 'RENAME' || op === 'DELETE') json(response, 200, { boolean: isThere })
      else if (op === 'GET_BLOCK_LOCATIONS') json(response, 200, { LocatedBlocks: {} })
      else if (isThere) json(response, 200, { FileStatus: status })
      else failed(response, 404, 'FileNotFoundException')
    })
    const { driver } = service
    const version = (await driver.version(path))!
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const job = new AbortController()
    const ended = new Error('the job was stopped')
    const removed = withinJob(job.signal, () => driver.removeVersion(path, version)).catch(
      (error: unknown) => error,
    )
    await until('a request that is not answered', () => !isSilent)
    expect(names).not.toContain('file')
    job.abort(ended)
    vi.advanceTimersByTime(5_000)
    expect(await removed).toBe(ended)
    expect([...names]).toEqual(['file'])
  },
)

test('where a file is replaced by two requests, the second one is sent though its job has ended after the first', async () => {
  const job = new AbortController()
  await using service = await startService((request, response, url) => {
    const op = url.searchParams.get('op')
    if (op === 'DELETE') job.abort(new Error('the job was stopped'))
    if (op === 'CREATE' && !url.searchParams.has('data'))
      response
        .writeHead(307, { location: `http://${request.headers.host}/webhdfs/v1/x?op=CREATE&data=true` })
        .end()
    else if (op === 'CREATE') response.writeHead(201).end()
    else if (op === 'GETFILESTATUS') json(response, 200, { FileStatus: { ...status, length: 0 } })
    // A service that knows no option replaces nothing.
    else json(response, 200, { boolean: !url.searchParams.has('renameoptions') })
  })
  const { driver, requests } = service
  await withinJob(job.signal, () => driver.put(path, Buffer.alloc(0), {}))
  expect(requests.slice(-2)).toEqual(['DELETE', 'RENAME'])
})

test('a file that a name node has put aside before another one answers is removed, and not taken for gone', async () => {
  const names = new Set(['file'])
  await using service = await startService((_request, response, url) => {
    const op = url.searchParams.get('op')
    const name = decodeURIComponent(url.pathname.slice('/webhdfs/v1/'.length))
    const isThere = names.has(name)
    if (op === 'RENAME' || op === 'DELETE') names.delete(name)
    if (op === 'RENAME') names.add(url.searchParams.get('destination')!.slice(1))
    if (op === 'RENAME' || op === 'DELETE') json(response, 200, { boolean: op === 'DELETE' && isThere })
    else if (op === 'GET_BLOCK_LOCATIONS') json(response, 200, { LocatedBlocks: {} })
    else if (isThere) json(response, 200, { FileStatus: status })
    else failed(response, 404, 'FileNotFoundException')
  })
  const { driver } = service
  expect(await driver.removeVersion(path, (await driver.version(path))!)).toBe(true)
  expect(names.size).toBe(0)
})
