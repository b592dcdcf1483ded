import type { DigestKind, Digests, FileAttributes, PartBody, StorePath } from '../contract/driver.ts'
import { bodyPieceBytes } from '../contract/driver.ts'
import { parentOf } from '../paths/path-text.ts'
import { digestsIn, HdfsChecksum, isOfContent, toldChecksum } from './checksum.ts'
import { field, type HdfsClient, type HdfsRequest, type What } from './client.ts'
import { failed, isContent } from './errors.ts'
import { aclIn, askedFor, askedForCreation, creationIn, extendedIn } from './extended.ts'
import { cleaningUp } from '../http/job-signal.ts'
import { received } from '../http/ranges.ts'
import { type Receiver, type Taker, takerInto } from '../http/transport.ts'
import { type FileStatus, fileStatus } from './status.ts'

/** What of a folder comes at once. */
export interface StatusPage {
  readonly statuses: readonly FileStatus[]
  readonly hasMore: boolean
}

/** How files are made. */
export interface Making {
  /** 0: as many as the cluster makes by default. */
  readonly replication: number
  readonly verify: string
}

/** A file that is written and verified. */
export interface Made {
  /**
   * Its number, where a try before may still be under way: it may make another file of the same name yet, of which nobody knows
   * whether it is whole.
   */
  readonly contestedId?: number
}

/** How files in a folder are kept. */
export interface Kept {
  /** Such as HOT. */
  readonly storagePolicy?: string
  /** Such as RS-6-3-1024k. */
  readonly erasureCoding?: string
  readonly isErasureCoded: boolean
  readonly isEncrypted: boolean
}

/** A path as HDFS has it. */
export const absolute = (path: StorePath): string => `/${path.toString('utf8')}`

/** Folders whose files have other checksums than their content would have: encrypted or erasure-coded. */
const maxUnlike = 1_000

/** Longest text of the names of files that are joined at once: a request's first line has 64 KiB. */
const maxJoinedLength = 32 * 1024

/** The operations of HDFS that the driver needs, on paths below the root. */
export class Cluster {
  readonly #client: HdfsClient
  readonly #making: Making
  readonly #unlike = new Set<string>()
  /** What checksums may be: a cluster is set to one of them. */
  #madeKinds: readonly DigestKind[] = ['crc32c', 'hdfs-crc']
  /** Whether listings come in pages: not before Hadoop 2.8. */
  #hasPages = true

  constructor(client: HdfsClient, making: Making) {
    this.#client = client
    this.#making = making
  }

  /** How files in the root are kept, by the words of the cluster. */
  async kept(what: What, signal: AbortSignal): Promise<Kept> {
    const asked = { method: 'GET', path: Buffer.alloc(0), what, signal } as const
    const status = await this.#client.request({ ...asked, op: 'GETFILESTATUS' })
    const its = (name: string) => field(field(status.json, 'FileStatus'), name)
    const policy = await this.#client.request({
      ...asked,
      op: 'GETSTORAGEPOLICY',
      accept: [...unknownOperation, 'AccessControlException'],
    })
    const texts = {
      storagePolicy: field(field(policy.json, 'BlockStoragePolicy'), 'name'),
      erasureCoding: its('ecPolicy'),
    }
    return {
      ...(typeof texts.storagePolicy === 'string' && { storagePolicy: texts.storagePolicy }),
      ...(typeof texts.erasureCoding === 'string' && { erasureCoding: texts.erasureCoding }),
      isErasureCoded: its('ecBit') === true,
      isEncrypted: its('encBit') === true,
    }
  }

  /** Undefined where nothing stands. */
  async status(
    path: StorePath,
    what: What,
    options: Pick<HdfsRequest, 'signal' | 'retries' | 'isProbe'> = {},
  ): Promise<FileStatus | undefined> {
    const answer = await this.#client.request({
      method: 'GET',
      op: 'GETFILESTATUS',
      path,
      what,
      accept: nothingThere,
      ...options,
    })
    if (answer.exception !== undefined) return undefined
    return readStatus(answer.json) ?? this.#unread(what)
  }

  /** Undefined where no folder stands. @param after name of the entry after which it goes on; empty for all */
  async page(
    path: StorePath,
    after: string,
    what: What,
    signal?: AbortSignal,
  ): Promise<StatusPage | undefined> {
    const asked = { method: 'GET', path, what, signal } as const
    if (!this.#hasPages) return this.#whole(asked, after)
    const answer = await this.#client.request({
      ...asked,
      op: 'LISTSTATUS_BATCH',
      params: after === '' ? {} : { startAfter: after },
      accept: [...nothingThere, ...unknownOperation],
    })
    if (answer.exception !== undefined && unknownOperation.includes(answer.exception)) {
      this.#hasPages = false
      return this.#whole(asked, after)
    }
    if (answer.exception !== undefined) return undefined
    const listing = field(answer.json, 'DirectoryListing')
    const statuses = readStatuses(field(listing, 'partialListing')) ?? this.#unread(what)
    if (isOfFile(statuses)) return undefined
    const remaining = field(listing, 'remainingEntries')
    // What would be taken for the end of a listing is not: what comes after it would never be seen.
    if (!Number.isSafeInteger(remaining)) this.#unread(what)
    const hasMore = Number(remaining) > 0
    return hasMore && statuses.length === 0 ? this.#unread(what) : { statuses, hasMore }
  }

  /** All of a folder at once. */
  async #whole(
    asked: Pick<HdfsRequest, 'method' | 'path' | 'what' | 'signal'>,
    after: string,
  ): Promise<StatusPage | undefined> {
    const answer = await this.#client.request({ ...asked, op: 'LISTSTATUS', accept: nothingThere })
    if (answer.exception !== undefined) return undefined
    const all = readStatuses(answer.json) ?? this.#unread(asked.what)
    if (isOfFile(all)) return undefined
    const last = Buffer.from(after)
    const statuses = all.filter(({ name }) => after === '' || Buffer.compare(Buffer.from(name), last) > 0)
    return { statuses, hasMore: false }
  }

  /**
   * Makes a folder, and those above it that are not there; nothing happens where it is there. Resolves with whether a try
   * before may still be under way.
   */
  async makeFolder(path: StorePath, mode: number | undefined, what: What): Promise<boolean> {
    const params = mode === undefined ? {} : { permission: octal(mode) }
    const answer = await this.#client.request({ method: 'PUT', op: 'MKDIRS', path, what, params })
    return field(answer.json, 'boolean') === true ? answer.isRepeated : this.#unread(what)
  }

  /** Writes a file and verifies it; one that stands there is replaced. Throws `gone` where its folder is not there. */
  async create(
    path: StorePath,
    content: Buffer | PartBody,
    { mode, blockBytes }: { readonly mode?: number | undefined; readonly blockBytes: number },
    what: What,
  ): Promise<Made> {
    const { replication, verify } = this.#making
    const body = new SummedBody(Buffer.isBuffer(content) ? heldBody(content) : content, blockBytes)
    const isHeld = Buffer.isBuffer(content)
    if (isHeld) await body.read(0, content.length)
    const { isRepeated } = await this.#client.request({
      method: 'PUT',
      op: 'CREATE',
      path,
      what,
      params: {
        overwrite: 'true',
        createparent: 'false',
        blocksize: String(blockBytes),
        ...(mode !== undefined && { permission: octal(mode) }),
        ...(replication > 0 && { replication: String(replication) }),
      },
      body: isHeld ? content : body,
    })
    // What is verified then is this one, or what came after it.
    const contested = isRepeated ? await this.status(path, what) : undefined
    if (verify === 'checksum' && body.sizeBytes > 0) await this.#verify(path, body, what)
    else await this.#verifySize(path, body.sizeBytes, what)
    return contested === undefined ? {} : { contestedId: contested.fileId }
  }

  /** Gives a file that was made the name of another, which it takes the place of. Throws as `replace`. */
  async place(from: StorePath, to: StorePath, { contestedId }: Made, what: What): Promise<void> {
    await this.replace(from, to, what)
    if (contestedId === undefined || (await this.status(to, what))?.fileId === contestedId) return
    throw failed('unreachable', what(), 'a try before it was answered too late, and may have written over it')
  }

  async #verifySize(path: StorePath, sizeBytes: number, what: What): Promise<void> {
    const there = await this.status(path, what)
    if (there?.sizeBytes !== sizeBytes)
      throw failed('corrupt', what(), `the cluster has ${there?.sizeBytes ?? 'none'} of ${sizeBytes} bytes`)
  }

  async #verify(path: StorePath, body: SummedBody, what: What): Promise<void> {
    const folder = absolute(parentOf(path))
    if (!this.#unlike.has(folder)) {
      const told = await this.#client.json({ method: 'GET', op: 'GETFILECHECKSUM', path, what }, toldChecksum)
      if (isOfContent(told, body.digests)) return
    }
    await this.#compare(path, body, what)
    this.#unlike.add(folder)
    const [oldest] = this.#unlike
    if (this.#unlike.size > maxUnlike && oldest !== undefined) this.#unlike.delete(oldest)
  }

  /** Reads back what was written: checksums of what is encrypted or erasure-coded are not of its content. */
  async #compare(path: StorePath, body: PartBody, what: What): Promise<void> {
    await this.#verifySize(path, body.sizeBytes, what)
    for (let offset = 0; offset < body.sizeBytes; offset += bodyPieceBytes) {
      const length = Math.min(bodyPieceBytes, body.sizeBytes - offset)
      const there = Buffer.allocUnsafe(length)
      const got = await this.read(path, offset, takerInto(there), what)
      if (got !== length || !there.equals(await body.read(offset, length)))
        throw failed('corrupt', what(), `the cluster has other bytes at ${offset}`)
    }
  }

  /** The digest of a file that the cluster makes; undefined where that is known to be none of these, or none at all. */
  async digests(
    path: StorePath,
    kinds: readonly DigestKind[],
    what: What,
    signal: AbortSignal,
  ): Promise<Digests | undefined> {
    if (!this.#madeKinds.some((kind) => kinds.includes(kind))) return undefined
    const answer = await this.#client.request({
      method: 'GET',
      op: 'GETFILECHECKSUM',
      path,
      what,
      signal,
      // One that is being written, or has blocks of several kinds, has none.
      accept: [...unknownOperation, 'IOException', 'PathIOException'],
    })
    const told = toldChecksum(answer.json)
    const digests = told && digestsIn(told)
    if (digests !== undefined)
      this.#madeKinds = this.#madeKinds.filter((kind) => Object.hasOwn(digests, kind))
    return digests
  }

  /** Whether somebody has a file open for writing; false where the release does not tell. */
  async isOpenForWriting(path: StorePath, what: What, signal?: AbortSignal): Promise<boolean> {
    const { json } = await this.#client.request({
      method: 'GET',
      op: 'GET_BLOCK_LOCATIONS',
      path,
      what,
      signal,
      params: { offset: '0', length: '1' },
      accept: unknownOperation,
    })
    return field(field(json, 'LocatedBlocks'), 'isUnderConstruction') === true
  }

  /** Bytes of a file, as many as there are. Throws `gone`. */
  async read(
    path: StorePath,
    offset: number,
    taker: Taker,
    what: What,
    signal?: AbortSignal,
  ): Promise<number> {
    const params = { offset: String(offset), length: String(taker.length) }
    const receiver: Receiver = { ...taker, accepts: isContent }
    const asked = { method: 'GET', op: 'OPEN', path, what, signal, params, receiver } as const
    const answer = await this.#client.request(asked)
    return received(answer, receiver)
  }

  async setTime(path: StorePath, modifiedMs: number, what: What): Promise<void> {
    const params = { modificationtime: String(Math.floor(modifiedMs)), accesstime: '-1' }
    await this.#client.request({ method: 'PUT', op: 'SETTIMES', path, what, params })
  }

  async setMode(path: StorePath, mode: number, what: What): Promise<void> {
    await this.#client.request({
      method: 'PUT',
      op: 'SETPERMISSION',
      path,
      what,
      params: { permission: octal(mode) },
    })
  }

  /** False where the user may not give it away. */
  async setOwner(path: StorePath, user: string, group: string, what: What): Promise<boolean> {
    const accept = ['AccessControlException']
    const params = { owner: user, group }
    const { exception } = await this.#client.request({
      method: 'PUT',
      op: 'SETOWNER',
      path,
      what,
      params,
      accept,
    })
    return exception === undefined
  }

  /** Access control list and extended attributes. */
  async extended(
    path: StorePath,
    { hasAcl, mode }: FileStatus,
    what: What,
    signal: AbortSignal | undefined,
  ): Promise<NonNullable<FileAttributes['extended']>> {
    const asked = { method: 'GET', path, what, signal } as const
    const [acl, all] = await Promise.all([
      hasAcl ? this.#client.request({ ...asked, op: 'GETACLSTATUS' }) : undefined,
      this.#client.json({ ...asked, op: 'GETXATTRS', params: { encoding: 'base64' } }, extendedIn),
    ])
    const list = acl && aclIn(acl.json, mode)
    return { all: list === undefined ? all : [...all, list], isComplete: true }
  }

  /** False where the cluster does not keep so many replicas, or keeps what is erasure-coded in another way. */
  async setReplication(path: StorePath, replication: number, what: What): Promise<boolean> {
    const answer = await this.#client.request({
      method: 'PUT',
      op: 'SETREPLICATION',
      path,
      what,
      params: { replication: String(replication) },
      accept: ['IOException', ...notGiven],
    })
    return answer.exception === undefined && field(answer.json, 'boolean') === true
  }

  /** When we made what stands at a path; undefined where somebody else did, and where the cluster keeps no such attributes. */
  async creationOf(path: StorePath, what: What, signal?: AbortSignal): Promise<number | undefined> {
    const answer = await this.#client.request({
      method: 'GET',
      op: 'GETXATTRS',
      path,
      what,
      signal,
      params: { encoding: 'base64' },
      accept: [...nothingThere, ...notGiven],
    })
    return creationIn(answer.json)
  }

  /** Notes that we made it now; where the cluster keeps no such attributes, it is nobody's. */
  async noteCreation(path: StorePath, what: What): Promise<void> {
    const asked = askedForCreation(Date.now())
    await this.#client.request({ method: 'PUT', path, what, accept: notGiven, ...asked })
  }

  /** False when some of it could not be given. */
  async giveExtended(
    path: StorePath,
    { all, isComplete }: NonNullable<FileAttributes['extended']>,
    what: What,
  ): Promise<boolean> {
    let isGiven = isComplete
    for (const attribute of all) {
      const asked = askedFor(attribute)
      const answer =
        asked && (await this.#client.request({ method: 'PUT', path, what, accept: notGiven, ...asked }))
      if (answer === undefined || answer.exception !== undefined) isGiven = false
    }
    return isGiven
  }

  /** Gives a file the name of another, which it takes the place of. Throws `unsupported` where that is a folder. */
  async replace(from: StorePath, to: StorePath, what: What): Promise<void> {
    const answer = await this.#client.request({
      method: 'PUT',
      op: 'RENAME',
      path: from,
      what,
      params: { destination: absolute(to), renameoptions: 'OVERWRITE' },
      accept: ['FileNotFoundException', ...inTheWay],
    })
    const { exception, isRepeated, message } = answer
    if (exception === undefined && field(answer.json, 'boolean') !== false) return
    const there = await this.status(to, what)
    if (there?.type === 'DIRECTORY') throw failed('unsupported', what(), 'a folder stands there')
    if (exception === 'FileNotFoundException') {
      // An earlier try was done, and its answer lost.
      if (isRepeated && there !== undefined && (await this.status(from, what)) === undefined) return
      throw failed('gone', what(), message)
    }
    if (exception !== undefined) throw failed('io', what(), `${exception}: ${message}`)
    // HttpFS knows no other renaming than one that replaces nothing. A job that ends between the two would leave neither file.
    await cleaningUp(async () => {
      await this.delete(to, false, what)
      await this.rename(from, to, what)
    })
  }

  /** Throws `gone` without a source, `unsupported` where something stands at the other path. */
  async rename(from: StorePath, to: StorePath, what: What): Promise<void> {
    const params = { destination: absolute(to) }
    const answer = await this.#client.request({ method: 'PUT', op: 'RENAME', path: from, what, params })
    if (field(answer.json, 'boolean') === true) return
    const [source, target] = [await this.status(from, what), await this.status(to, what)]
    if (source === undefined && target !== undefined && answer.isRepeated) return
    if (source === undefined) throw failed('gone', what(), 'nothing is there')
    if (target !== undefined) throw failed('unsupported', what(), 'something stands there')
    throw failed('gone', what(), 'the folder that it is to be in is not there')
  }

  /** False when nothing is there. Throws `unsupported` for a folder that is not empty, unless all of it is to go. */
  async delete(path: StorePath, isRecursive: boolean, what: What): Promise<boolean> {
    const answer = await this.#client.request({
      method: 'DELETE',
      op: 'DELETE',
      path,
      what,
      params: { recursive: String(isRecursive) },
      accept: nothingThere,
    })
    return answer.exception === undefined && (field(answer.json, 'boolean') === true || answer.isRepeated)
  }

  /**
   * Appends files to one of the same folder, as many as one request can name; they are gone then. Throws where the folder
   * allows no joining.
   * @returns how many were
   */
  async join(path: StorePath, others: readonly StorePath[], what: What): Promise<number> {
    let length = 0
    const joined = others
      .map(absolute)
      .filter(
        (name, index) => (length += encodeURIComponent(name).length + 3) <= maxJoinedLength || index === 0,
      )
    const params = { sources: joined.join(',') }
    await this.#client.request({ method: 'POST', op: 'CONCAT', path, what, params, retries: 0 })
    return joined.length
  }

  #unread(what: What): never {
    throw failed('unreachable', what(), 'an answer without what WebHDFS answers')
  }
}

/** Why an attribute is not taken: rights, sizes, or that the cluster is set to have none. */
const notGiven = [
  'AccessControlException',
  'AclException',
  'HadoopIllegalArgumentException',
  'IllegalArgumentException',
  'IOException',
  'UnsupportedOperationException',
]

/** Nothing stands at a path; or a file where one of its folders would be. */
const nothingThere = ['FileNotFoundException', 'ParentNotDirectoryException']
/** An operation that this release has not. */
const unknownOperation = ['IllegalArgumentException', 'UnsupportedOperationException']
/** Something else than a file stands where one is to be. */
const inTheWay = ['FileAlreadyExistsException', 'IOException', 'PathIsNotEmptyDirectoryException']

const octal = (mode: number): string => mode.toString(8).padStart(3, '0')

const readStatus = (json: unknown): FileStatus | undefined => fileStatus(field(json, 'FileStatus'))

/** Undefined where one of them is none. */
function readStatuses(json: unknown): FileStatus[] | undefined {
  const list = field(field(json, 'FileStatuses'), 'FileStatus')
  if (!Array.isArray(list)) return undefined
  const statuses = list.map(fileStatus).filter((status) => status !== undefined)
  return statuses.length === list.length ? statuses : undefined
}

/** The listing of a file is the file, without a name. */
const isOfFile = ([first]: readonly FileStatus[]): boolean => first?.name === ''

const heldBody = (bytes: Buffer): PartBody => ({
  sizeBytes: bytes.length,
  read: async (offset, length) => bytes.subarray(offset, offset + length),
})

/** A body whose checksum is made as it is read from its beginning to its end; reading it once more begins anew. */
class SummedBody implements PartBody {
  readonly #body: PartBody
  readonly #blockBytes: number
  #sum: HdfsChecksum
  #nextOffset = 0
  #digests: ReturnType<HdfsChecksum['digests']> | undefined

  constructor(body: PartBody, blockBytes: number) {
    this.#body = body
    this.#blockBytes = blockBytes
    this.#sum = new HdfsChecksum(blockBytes)
  }

  get sizeBytes(): number {
    return this.#body.sizeBytes
  }

  get digests(): ReturnType<HdfsChecksum['digests']> {
    return (this.#digests ??= this.#sum.digests())
  }

  async read(offset: number, length: number): Promise<Buffer> {
    const bytes = await this.#body.read(offset, length)
    if (this.#digests !== undefined) return bytes
    if (offset === 0) {
      this.#sum = new HdfsChecksum(this.#blockBytes)
      this.#nextOffset = 0
    }
    if (offset === this.#nextOffset) {
      this.#sum.update(bytes)
      this.#nextOffset += bytes.length
    }
    return bytes
  }
}
