import type {
  FileAttributes,
  Losses,
  SourceFile,
  StoreCopy,
  StorePath,
  UploadedRange,
} from '../contract/driver.ts'
import { ofSource } from '../buckets/copies.ts'
import { fileMetadata } from './attributes.ts'
import type { Container, CopySource, What } from './container.ts'
import { failed } from './errors.ts'
import { BlobFile } from './source-file.ts'
import { readUpload } from './upload.ts'

/** The most that the service copies before it answers ("Copy Blob From URL"). */
const maxCopiedBytes = 256 * 1024 * 1024

/** A container as copies are made from it. */
export class BlobPlace {
  readonly container: Container
  /** Equal for containers of one account. */
  readonly account: string

  constructor(container: Container, account: string) {
    this.container = container
    this.account = account
  }
}

/** Where files are copied to. */
export interface BlobTarget {
  readonly container: Container
  what(operation: string, path: StorePath): What
  /** Throws where nothing can be written under the path. */
  writable(path: StorePath, what: What): string
  refuseFolder(blob: string, what: What): Promise<void>
  /** Gives what was written what metadata do not hold. */
  withAccess(blob: string, attributes: FileAttributes, what: What): Promise<Losses>
}

/** Copies within an account by Copy Blob From URL and Put Block From URL. */
export class BlobCopy implements StoreCopy {
  readonly maxFileBytes = maxCopiedBytes
  readonly #from: Container
  readonly #to: BlobTarget

  constructor(from: Container, to: BlobTarget) {
    this.#from = from
    this.#to = to
  }

  /** Creates first and replaces second, as `put` does. */
  async file(file: SourceFile, to: StorePath, attributes: FileAttributes): Promise<Losses | undefined> {
    const headers = fileMetadata(attributes)
    // Without any the copy has the source's.
    if (Object.keys(headers).length === 0) return undefined
    const { container, ...target } = this.#to
    const what = target.what('copy', to)
    const blob = target.writable(to, what)
    const source = await this.#sourceOf(file)
    let outcome = await container.copyBlob(blob, source, { headers, create: true }, what)
    if (outcome === 'stands') {
      await target.refuseFolder(blob, what)
      outcome = await container.copyBlob(blob, source, { headers, create: false }, what)
    }
    if (outcome === 'changed' || outcome === 'gone') throw ofSource(outcome)
    if (outcome !== 'copied') return undefined
    await this.#compare(blobFile(file), blob, what)
    return target.withAccess(blob, attributes, what)
  }

  async part(file: SourceFile, { upload, index, offset, length }: UploadedRange): Promise<boolean> {
    const { path, blockId } = readUpload(upload)
    const what = this.#to.what(`copy part ${index}`, path)
    const blob = this.#to.writable(path, what)
    const source = await this.#sourceOf(file)
    const range = { offset, length }
    const outcome = await this.#to.container.copyBlock(blob, blockId(index), source, range, what)
    if (outcome === 'changed' || outcome === 'gone') throw ofSource(outcome)
    return outcome === 'copied'
  }

  #sourceOf(file: SourceFile): Promise<CopySource> {
    const { blob, etag } = blobFile(file).opened
    return this.#from.copySource(blob, etag)
  }

  /** Throws `corrupt` where the copy has another size or digest. */
  async #compare({ opened }: BlobFile, blob: string, what: What): Promise<void> {
    const there = await this.#to.container.properties(blob, what)
    if (there?.sizeBytes !== opened.sizeBytes)
      throw failed('corrupt', what(), `it has ${there?.sizeBytes ?? 'no'} bytes, not ${opened.sizeBytes}`)
    if (opened.md5 !== undefined && there.md5 !== undefined && opened.md5 !== there.md5)
      throw failed('corrupt', what(), `the copy has MD5 ${there.md5}, not ${opened.md5}`)
  }
}

/** A file of a container: of the one that it was opened with, which only a driver of that kind has. */
function blobFile(file: SourceFile): BlobFile {
  if (!(file instanceof BlobFile)) throw new Error('a file of another kind of store')
  return file
}
