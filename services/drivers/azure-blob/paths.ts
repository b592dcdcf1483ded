import type { FileAttributes, Loss, Losses } from '../contract/driver.ts'
import { serviceBits } from './attributes.ts'
import type { BlobClient } from './client.ts'
import type { What } from './container.ts'
import { answerError, failed } from './errors.ts'
import { encodeBlobName } from './names.ts'

/** Of an access control list, for attributes of ours: the text of the service, whose users and groups are ids of its directory. */
const aclName = 'azure.acl'

/** A renaming or removal that goes on is asked for so often at most; each time is of thousands of paths. */
const maxContinuations = 10_000

/** Ids of users and groups: those of the directory, its names, and those that the service has by itself. */
const principal = /^(?:\$superuser|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[^@\s]+@[^@\s]+)$/i

/**
 * The calls of the Data Lake endpoint that an account with a hierarchical namespace has besides those for blobs: folders,
 * names, owners and permissions. From "Path - Create, Update, Delete, Get Properties" of the service's REST reference.
 */
export class Paths {
  readonly #client: BlobClient
  readonly #containerName: string

  constructor(client: BlobClient, containerName: string) {
    this.#client = client
    this.#containerName = containerName
  }

  /** Whether the service has access control of paths, which is so where the namespace is hierarchical. Never throws. */
  async hasAccessControl(what: What): Promise<boolean> {
    const query = { action: 'getAccessControl' }
    const asked = this.#client.request({ method: 'HEAD', blob: '', query, what, retries: 0 })
    return asked.then(
      ({ headers }) => headers['x-ms-permissions'] !== undefined,
      () => false,
    )
  }

  /** Makes a folder, and those above it that are missing; false where something stands there. */
  async makeFolder(
    path: string,
    metadata: Readonly<Record<string, string>>,
    attributes: FileAttributes,
    what: What,
  ): Promise<boolean> {
    const { status } = await this.#client.request({
      method: 'PUT',
      blob: path,
      query: { resource: 'directory' },
      ifNoneMatch: '*',
      // The default umask would take away what the source allows.
      store: { ...propertiesHeader(metadata), ...permissionsHeader(attributes), 'x-ms-umask': '0000' },
      what,
      accept: ['PathAlreadyExists', 'BlobAlreadyExists', 'ResourceAlreadyExists', 412],
    })
    return status < 300
  }

  /** Replaces all metadata of a folder of this version. */
  async putMetadata(
    path: string,
    etag: string,
    metadata: Readonly<Record<string, string>>,
    what: What,
  ): Promise<void> {
    const query = { action: 'setProperties' }
    const store = propertiesHeader(metadata)
    await this.#client.request({ method: 'PATCH', blob: path, query, ifMatch: etag, store, what })
  }

  /** Gives a file or folder what of the attributes is permissions, owners by the ids of the directory, and an access control list. */
  async setAccess(path: string, attributes: FileAttributes, what: What): Promise<void> {
    const { ownerNames, extended } = attributes
    const acl = extended?.all.find(({ name }) => name === aclName)?.value
    const isKnown = ownerNames !== undefined && areIds(ownerNames)
    const store = {
      // A list has the permissions in it, and goes not with them.
      ...(acl === undefined ? permissionsHeader(attributes) : { 'x-ms-acl': Buffer.from(acl).toString() }),
      ...(isKnown && { 'x-ms-owner': ownerNames.user, 'x-ms-group': ownerNames.group }),
    }
    if (Object.keys(store).length === 0) return
    const query = { action: 'setAccessControl' }
    await this.#client.request({ method: 'PATCH', blob: path, query, store, what })
  }

  /** The access control list, where it says more than permissions do. Throws `gone`. */
  async extended(
    path: string,
    what: What,
    signal: AbortSignal | undefined,
  ): Promise<NonNullable<FileAttributes['extended']>> {
    const query = { action: 'getAccessControl' }
    const { headers } = await this.#client.request({ method: 'HEAD', blob: path, query, what, signal })
    const [acl, permissions] = [headers['x-ms-acl'], headers['x-ms-permissions']]
    if (typeof acl !== 'string' || typeof permissions !== 'string' || !permissions.endsWith('+'))
      return { all: [], isComplete: true }
    return { all: [{ name: aclName, value: Buffer.from(acl) }], isComplete: true }
  }

  /** Removes an empty folder; false where nothing is there. Throws `unsupported` for one that is not empty. */
  async removeFolder(path: string, what: What): Promise<boolean> {
    const query = { recursive: 'false' }
    const accept = ['DirectoryNotEmpty', 404]
    const answer = await this.#client.request({ method: 'DELETE', blob: path, query, what, accept })
    if (answer.code === 'DirectoryNotEmpty') throw failed('unsupported', what(), 'the folder is not empty')
    return answer.status !== 404 || answer.isRepeated
  }

  /** Gives a file, or a folder with all that is in it, another name, where nothing stands. Throws `gone`. */
  async rename(path: string, to: string, what: What): Promise<void> {
    const { credentialQuery } = this.#client
    const source = `/${this.#containerName}/${encodeBlobName(path)}`
    const from = credentialQuery === undefined ? source : `${source}?${credentialQuery}`
    let continuation: string | undefined
    for (let calls = 0; calls < maxContinuations; calls++) {
      const answer = await this.#client.request({
        method: 'PUT',
        blob: to,
        ...(continuation === undefined ? { ifNoneMatch: '*' } : { query: { continuation } }),
        store: { 'x-ms-rename-source': from },
        what,
        accept: ['SourcePathNotFound'],
      })
      // An earlier try of ours may have renamed it.
      if (answer.code === 'SourcePathNotFound' && !answer.isRepeated) throw answerError(what(), answer)
      const next = answer.headers['x-ms-continuation']
      if (typeof next !== 'string' || next === '') return
      continuation = next
    }
    throw failed('io', what(), `it is not over after ${maxContinuations} calls`)
  }
}

/** Metadata as the endpoint takes them: values in base64. */
const propertiesHeader = (metadata: Readonly<Record<string, string>>) => ({
  'x-ms-properties': Object.entries(metadata)
    .map(([name, value]) => `${name}=${Buffer.from(value).toString('base64')}`)
    .join(','),
})

const permissionsHeader = ({ mode }: FileAttributes): Record<string, string> =>
  mode === undefined ? {} : { 'x-ms-permissions': (mode & serviceBits).toString(8).padStart(4, '0') }

const areIds = ({ user, group }: NonNullable<FileAttributes['ownerNames']>): boolean =>
  principal.test(user) && principal.test(group)

/** What of losses is kept by the endpoint all the same. */
export const withoutKept = (losses: Losses, { extended }: FileAttributes): Losses =>
  losses.filter(
    (loss: Loss) =>
      loss !== 'attributes' ||
      extended?.isComplete !== true ||
      extended.all.some(({ name }) => name !== aclName),
  )
