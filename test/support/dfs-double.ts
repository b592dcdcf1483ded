import type { BlockBlobClient, ContainerClient } from '@azure/storage-blob'
import { createServer, type IncomingMessage, request as forward, type ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import type { Azurite } from './azurite.ts'
import { listenOnLoopback } from './loopback.ts'

/**
 * An account with a hierarchical namespace, from the documented protocol of its Data Lake endpoint, in front of Azurite,
 * which has neither. What goes over the Blob endpoint is Azurite's own, and so is all content; folders are blobs there whose
 * metadata say so. Permissions are in memory. Signatures of requests to the Data Lake endpoint are not checked.
 */
export interface DfsDouble extends AsyncDisposable {
  /** Of both endpoints, `host:port`. */
  readonly endpoint: string
  /** Requests to the Data Lake endpoint: method, and what is asked of it. */
  readonly asked: readonly string[]
  /** Makes a file as programs do that write through the Data Lake endpoint: it takes no blocks. */
  createFile(container: string, path: string, content: string): Promise<void>
}

interface Access {
  permissions: string
  owner: string
  group: string
  acl?: string
}

interface Reply {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Buffer
}

/** The default umask of the service. */
const defaultUmask = 0o027
const renamedAtOnce = 2

const refused = (status: number, code: string): Reply => ({ status, headers: { 'x-ms-error-code': code } })
const folderMark = 'hdi_isfolder'

export async function startDfsDouble(azurite: Azurite, { knowsAccount = true } = {}): Promise<DfsDouble> {
  const access = new Map<string, Access>()
  const madeByDfs = new Set<string>()
  /** Those that were made here, so that not every write asks Azurite for those above it. */
  const folders = new Set<string>()
  const asked: string[] = []

  const handle = async (request: IncomingMessage): Promise<Reply> => {
    const url = new URL(request.url ?? '/', 'http://host')
    const body = await buffer(request)
    const [, , container = '', ...rest] = url.pathname.split('/').map(decodeURIComponent)
    const path = rest.join('/')
    const query = url.searchParams
    const dfs = ['resource', 'action', 'recursive', 'continuation'].find((name) => query.has(name))
    const isRename = request.headers['x-ms-rename-source'] !== undefined
    if (query.get('restype') === 'account') {
      if (!knowsAccount) return refused(403, 'AuthorizationFailure')
      const answer = await passOn(azurite.endpoint, request, body)
      return { ...answer, headers: { ...answer.headers, 'x-ms-is-hns-enabled': 'true' } }
    }
    if (dfs === undefined && !isRename) return blob(request, body, { container, path, query })
    asked.push(`${request.method} ${isRename ? 'rename' : `${dfs}=${query.get(dfs ?? '')}`}`)
    const its = azurite.service.getContainerClient(container)
    if (!(await its.exists())) return refused(404, 'FilesystemNotFound')
    if (request.headers.authorization === undefined && !query.has('sig'))
      return refused(401, 'NoAuthenticationInformation')
    return lake(request, { its, container, path, query })
  }

  const newAccess = (permissions: number): Access => ({
    permissions: textOf(permissions),
    owner: '$superuser',
    group: '$superuser',
  })
  const headersOf = ({ permissions, owner, group, acl }: Access, isFolder: boolean) => ({
    'x-ms-permissions': permissions,
    'x-ms-owner': owner,
    'x-ms-group': group,
    'x-ms-resource-type': isFolder ? 'directory' : 'file',
    ...(acl !== undefined && { 'x-ms-acl': acl }),
  })

  /** The Data Lake endpoint. */
  async function lake(request: IncomingMessage, at: At): Promise<Reply> {
    const { its, container, path, query } = at
    const header = (name: string) => {
      const value = request.headers[name]
      return typeof value === 'string' ? value : undefined
    }
    const there = path === '' ? { isFolder: true, etag: '' } : await lookAt(its, path)
    const known = access.get(keyOf(container, path)) ?? newAccess(there?.isFolder === true ? 0o750 : 0o640)
    if (request.method === 'HEAD')
      return there === undefined
        ? refused(404, 'PathNotFound')
        : { status: 200, headers: headersOf(known, there.isFolder) }
    const ifMatch = header('if-match')
    if (ifMatch !== undefined && there !== undefined && ifMatch !== there.etag)
      return refused(412, 'ConditionNotMet')
    if (request.method === 'PATCH') {
      if (there === undefined) return refused(404, 'PathNotFound')
      if (query.get('action') === 'setProperties') {
        const metadata = propertiesOf(header('x-ms-properties'))
        await its
          .getBlobClient(path)
          .setMetadata({ ...metadata, ...(there.isFolder && { [folderMark]: 'true' }) })
        return { status: 200 }
      }
      const [permissions, acl] = [header('x-ms-permissions'), header('x-ms-acl')]
      if (permissions !== undefined && acl !== undefined) return refused(400, 'InvalidInput')
      access.set(keyOf(container, path), {
        permissions:
          permissions !== undefined
            ? textOf(Number.parseInt(permissions, 8))
            : acl === undefined
              ? known.permissions
              : permissionsOf(acl),
        owner: header('x-ms-owner') ?? known.owner,
        group: header('x-ms-group') ?? known.group,
        ...(acl !== undefined && { acl }),
      })
      return { status: 200 }
    }
    if (request.method === 'DELETE') {
      if (there === undefined) return refused(404, 'PathNotFound')
      const below = await namesBelow(its, path)
      if (below.length > 0) return refused(409, 'DirectoryNotEmpty')
      await its.deleteBlob(path)
      folders.delete(keyOf(container, path))
      access.delete(keyOf(container, path))
      return { status: 200 }
    }
    const source = header('x-ms-rename-source')
    if (source !== undefined)
      return rename(at, source, header('if-none-match') === '*' && there !== undefined)
    if (header('if-none-match') === '*' && there !== undefined) return refused(409, 'PathAlreadyExists')
    if (await hasFileAbove(its, path, folders)) return refused(409, 'PathConflict')
    const umask = Number.parseInt(header('x-ms-umask') ?? defaultUmask.toString(8), 8)
    await makeFolders(its, parentOf(path), folders)
    const metadata = { ...propertiesOf(header('x-ms-properties')), [folderMark]: 'true' }
    await its.getBlockBlobClient(path).upload('', 0, { metadata })
    folders.add(keyOf(container, path))
    const wanted = Number.parseInt(header('x-ms-permissions') ?? '0777', 8)
    access.set(keyOf(container, path), newAccess(wanted & ~umask))
    return { status: 201 }
  }

  /** Some paths with each call, which the service may do: the rest goes on with `continuation`. */
  async function rename({ its, container, path }: At, from: string, isTaken: boolean): Promise<Reply> {
    const [, sourceContainer, ...rest] = from.split('?')[0]!.split('/').map(decodeURIComponent)
    const source = rest.join('/')
    if (isTaken) return refused(409, 'PathAlreadyExists')
    if (sourceContainer !== container) return refused(400, 'InvalidSourceUri')
    const names = await namesBelow(its, source)
    const isThere = (await lookAt(its, source)) !== undefined
    if (!isThere && names.length === 0) return refused(404, 'SourcePathNotFound')
    const parent = parentOf(path)
    if (parent !== '' && (await lookAt(its, parent))?.isFolder !== true)
      return refused(404, 'RenameDestinationParentPathNotFound')
    const all = [...names, ...(isThere ? [source] : [])]
    for (const name of all.slice(0, renamedAtOnce)) {
      const goal = path + name.slice(source.length)
      await move(its, name, goal)
      if (folders.delete(keyOf(container, name))) folders.add(keyOf(container, goal))
      const moved = access.get(keyOf(container, name))
      if (moved !== undefined) access.set(keyOf(container, goal), moved)
      access.delete(keyOf(container, name))
    }
    return {
      status: 201,
      ...(all.length > renamedAtOnce && { headers: { 'x-ms-continuation': 'more' } }),
    }
  }

  /** The Blob endpoint: Azurite's answer, and what a hierarchical namespace makes of it. */
  async function blob(
    request: IncomingMessage,
    body: Buffer,
    { container, path, query }: Omit<At, 'its'>,
  ): Promise<Reply> {
    const its = azurite.service.getContainerClient(container)
    const comp = query.get('comp') ?? ''
    const isWrite = request.method === 'PUT' && path !== '' && ['', 'block', 'blocklist'].includes(comp)
    if (isWrite) {
      if (comp === 'block' && madeByDfs.has(keyOf(container, path))) return refused(409, 'InvalidBlobType')
      if (folders.has(keyOf(container, path)))
        return refused(
          409,
          request.headers['if-none-match'] === '*' ? 'BlobAlreadyExists' : 'ResourceTypeMismatch',
        )
      if (await hasFileAbove(its, path, folders)) return refused(409, 'PathConflict')
    }
    const answer = await passOn(azurite.endpoint, request, body)
    if (isWrite && answer.status < 300 && comp !== 'block') {
      madeByDfs.delete(keyOf(container, path))
      await makeFolders(its, parentOf(path), folders)
      if (!access.has(keyOf(container, path))) access.set(keyOf(container, path), newAccess(0o640))
    }
    if (request.method === 'DELETE' && answer.status < 300) {
      access.delete(keyOf(container, path))
      folders.delete(keyOf(container, path))
    }
    if (comp === 'list' && query.get('delimiter') === '/' && answer.status < 300)
      return {
        ...answer,
        body: asHierarchical(answer.body!, (name) =>
          query.get('include')?.includes('permissions') === true
            ? (access.get(keyOf(container, name)) ?? newAccess(0o640))
            : undefined,
        ),
      }
    if ((request.method === 'HEAD' || request.method === 'GET') && path !== '' && answer.status < 300) {
      const isFolder = answer.headers?.[`x-ms-meta-${folderMark}`] === 'true'
      const its = access.get(keyOf(container, path)) ?? newAccess(isFolder ? 0o750 : 0o640)
      const { acl: _, ...shown } = its
      return { ...answer, headers: { ...answer.headers, ...headersOf(shown, isFolder) } }
    }
    return answer
  }

  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    handle(request).then(
      ({ status, headers = {}, body = Buffer.alloc(0) }) => {
        const its = { 'x-ms-request-id': 'double', 'x-ms-version': '2021-12-02', ...headers }
        const length = request.method === 'HEAD' ? {} : { 'content-length': String(body.length) }
        response.writeHead(status, { ...its, ...length }).end(request.method === 'HEAD' ? undefined : body)
      },
      (error: Error) => response.destroy(error),
    )
  })
  const listening = await listenOnLoopback(server)
  return {
    ...listening,
    endpoint: `127.0.0.1:${listening.port}`,
    asked,
    createFile: async (container, path, content) => {
      const its = azurite.service.getContainerClient(container)
      await makeFolders(its, parentOf(path), folders)
      await its.getBlockBlobClient(path).upload(content, Buffer.byteLength(content))
      madeByDfs.add(keyOf(container, path))
    },
  }
}

interface At {
  readonly its: ContainerClient
  readonly container: string
  readonly path: string
  readonly query: URLSearchParams
}

const keyOf = (container: string, path: string) => `${container}/${path}`

const parentOf = (path: string) => path.slice(0, Math.max(0, path.lastIndexOf('/')))

async function lookAt(its: ContainerClient, path: string) {
  const found = await its
    .getBlobClient(path)
    .getProperties()
    .catch((error: { statusCode?: number }) => {
      if (error.statusCode === 404) return undefined
      throw error
    })
  return found && { isFolder: found.metadata?.[folderMark] === 'true', etag: found.etag ?? '' }
}

async function hasFileAbove(
  its: ContainerClient,
  path: string,
  folders: ReadonlySet<string>,
): Promise<boolean> {
  if (folders.has(keyOf(its.containerName, parentOf(path)))) return false
  for (let above = parentOf(path); above !== ''; above = parentOf(above))
    if ((await lookAt(its, above))?.isFolder === false) return true
  return false
}

async function makeFolders(its: ContainerClient, path: string, folders: Set<string>): Promise<void> {
  const key = keyOf(its.containerName, path)
  if (path === '' || folders.has(key)) return
  folders.add(key)
  if ((await lookAt(its, path)) !== undefined) return
  await makeFolders(its, parentOf(path), folders)
  await its.getBlockBlobClient(path).upload('', 0, { metadata: { [folderMark]: 'true' } })
}

async function namesBelow(its: ContainerClient, path: string): Promise<string[]> {
  const names: string[] = []
  for await (const { name } of its.listBlobsFlat({ prefix: `${path}/` })) names.push(name)
  return names
}

async function move(its: ContainerClient, from: string, to: string): Promise<void> {
  const source: BlockBlobClient = its.getBlockBlobClient(from)
  const content = await source.downloadToBuffer()
  const { metadata, contentMD5 } = await source.getProperties()
  await its.getBlockBlobClient(to).upload(content, content.length, {
    ...(metadata && { metadata }),
    ...(contentMD5 && { blobHTTPHeaders: { blobContentMD5: contentMD5 } }),
  })
  await source.delete()
}

/** Folders are told by their names alone, as what names begin with, and files with their permissions. */
function asHierarchical(xml: Buffer, accessOf: (name: string) => Access | undefined): Buffer {
  const text = xml.toString()
  const prefixes = new Set(
    [...text.matchAll(/<BlobPrefix><Name>(.*?)<\/Name><\/BlobPrefix>/gs)].map(([, name]) => name),
  )
  const changed = text.replaceAll(/<Blob>.*?<\/Blob>/gs, (blob) => {
    const its = /<Name>(.*?)<\/Name>/s.exec(blob)![1]!
    const access = accessOf(its)
    if (!blob.includes(`<${folderMark}>true<`)) {
      if (access === undefined) return blob
      const { owner, group, permissions } = access
      const told = `<Owner>${owner}</Owner><Group>${group}</Group><Permissions>${permissions}</Permissions>`
      return blob.replace('</Properties>', `${told}</Properties>`)
    }
    const name = `${its}/`
    return prefixes.has(name) ? '' : `<BlobPrefix><Name>${name}</Name></BlobPrefix>`
  })
  return Buffer.from(changed)
}

const propertiesOf = (text = ''): Record<string, string> =>
  Object.fromEntries(
    text
      .split(',')
      .filter((pair) => pair !== '')
      .map((pair) => {
        const [name, value] = [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]
        return [name, Buffer.from(value, 'base64').toString()]
      }),
  )

/** `rwxr-x---` of bits. */
function textOf(bits: number): string {
  const letters = Array.from('rwxrwxrwx').map((letter, at) => ((bits >> (8 - at)) & 1 ? letter : '-'))
  if (bits & 0o1000) letters[8] = letters[8] === 'x' ? 't' : 'T'
  return letters.join('')
}

/** The entries of owner, mask and others, with the plus sign of a list that has more. */
function permissionsOf(acl: string): string {
  const of = (type: string) => new RegExp(`(?:^|,)${type}::([rwx-]{3})`).exec(acl)?.[1] ?? '---'
  const hasMore = /(?:user|group):[^:]/.test(acl)
  const group = hasMore && acl.includes('mask::') ? of('mask') : of('group')
  return `${of('user')}${group}${of('other')}${hasMore ? '+' : ''}`
}

async function passOn(endpoint: string, request: IncomingMessage, body: Buffer): Promise<Reply> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const [host, port] = endpoint.split(':')
  const { method, url, rawHeaders } = request
  forward({ host, port, method, path: url, headers: rawHeaders, agent: false }, resolve)
    .once('error', reject)
    .end(body)
  const answer = await promise
  const { connection: _, 'transfer-encoding': _encoding, ...headers } = answer.headers
  return {
    status: answer.statusCode ?? 0,
    headers: headers as Record<string, string>,
    body: await buffer(answer),
  }
}
