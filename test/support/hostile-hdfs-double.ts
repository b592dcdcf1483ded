import { createServer } from 'node:http'
import { listenOnLoopback } from './loopback.ts'

/** What a server of HDFS lists. */
export interface ListedFile {
  readonly pathSuffix: string
  readonly type: 'FILE' | 'DIRECTORY'
  readonly permission?: string
}

/**
 * A server of WebHDFS's protocol that lists what no cluster lists; gone with the scope. All files have `content`, sent
 * piece by piece without its length.
 * @param listing of a folder, by its path without a slash at its beginning
 * @param diffList differences of any two snapshots
 */
export async function startHostileHdfsDouble(
  listing: (folder: string) => readonly ListedFile[],
  content = 'abc',
  diffList: readonly object[] = [],
) {
  const status = ({ pathSuffix, type, permission = '755' }: ListedFile) => ({
    pathSuffix,
    type,
    permission,
    length: type === 'FILE' ? content.length : 0,
    modificationTime: 1e12,
    owner: 'ada',
    group: 'users',
    fileId: 7,
  })
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://here')
    const [path = ''] = (request.url ?? '').replace(/^\/webhdfs\/v1\/?/, '').split('?')
    const json = (body: unknown, code = 200) =>
      response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    const op = url.searchParams.get('op') ?? ''
    if (op === 'OPEN') {
      response.writeHead(200, { 'content-type': 'application/octet-stream' })
      response.write(content.slice(0, 1))
      response.end(content.slice(1))
    } else if (op === 'GETFILESTATUS')
      json({ FileStatus: status({ pathSuffix: '', type: path.endsWith('.txt') ? 'FILE' : 'DIRECTORY' }) })
    else if (op.startsWith('LISTSTATUS')) {
      const FileStatus = listing(decodeURIComponent(path)).map(status)
      json({ DirectoryListing: { partialListing: { FileStatuses: { FileStatus } }, remainingEntries: 0 } })
    } else if (op === 'GETSNAPSHOTDIFF') json({ SnapshotDiffReport: { diffList } })
    else json({ RemoteException: { exception: 'FileNotFoundException', message: path } }, 404)
  })
  const listening = await listenOnLoopback(server)
  return {
    options: {
      defaultFS: `webhdfs://127.0.0.1:${listening.port}`,
      additionalProperties: { 'dfs.http.client.retry.max.attempts': '1' },
    },
    [Symbol.asyncDispose]: () => listening[Symbol.asyncDispose](),
  }
}
