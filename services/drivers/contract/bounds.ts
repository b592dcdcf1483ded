import { type Stats, statSync } from 'node:fs'

/** A folder of this host that belongs to Gantry itself, or a file with a secret of it. */
export interface OwnFolder {
  /** What it is, such as `the configuration folder`. */
  readonly name: string
  /** Absolute. */
  readonly path: string
  /** How to have it elsewhere. */
  readonly fix: string
}

/** What administrators allow. */
export interface Allowed {
  /** Folders that local filesystems may be in, as `Path` has them; undefined for anywhere. */
  readonly roots: readonly string[] | undefined
  /** Hosts and networks of inner addresses that stores may be at (`broker/common/inner-hosts.ts`); undefined for any. */
  readonly hosts: readonly string[] | undefined
  /** Which credentials of this host filesystems may use, as the setting of that name has them; undefined for none. */
  readonly hostCredentials?: readonly string[] | undefined
}

/** Where filesystems may be. Plain data: each thread that opens filesystems gets it, and sees changes at once. */
export interface StoreBounds {
  readonly ownFolders: readonly OwnFolder[]
  /** Identities of these folders when the process started: one that is moved is still the same. */
  readonly ownIds: readonly string[]
  readonly memory: SharedArrayBuffer
}

/** In 32-bit words: odd while the text is written, and another number after each change; and its length in bytes. */
const versionAt = 0
const lengthAt = 1
const headerBytes = 2 * Int32Array.BYTES_PER_ELEMENT

/** More than 100 of the longest paths and hosts, as JSON in UTF-8. Memory is taken for what is used. */
const maxBytes = 8 * 1024 * 1024

export function createBounds(
  ownFolders: readonly OwnFolder[],
  allowed: Allowed = { roots: undefined, hosts: [] },
): StoreBounds {
  const ownIds = ownFolders.map(({ path }) => folderId(path)).filter((id) => id !== undefined)
  const memory = new SharedArrayBuffer(headerBytes, { maxByteLength: maxBytes })
  const bounds = { ownFolders, ownIds, memory }
  allow(bounds, allowed)
  return bounds
}

/** Changes what is allowed; every thread sees it with the next filesystem that it opens. For one thread of the process. */
export function allow({ memory }: StoreBounds, allowed: Allowed): void {
  const text = Buffer.from(JSON.stringify(allowed))
  if (memory.byteLength < headerBytes + text.length) memory.grow(headerBytes + text.length)
  const words = new Int32Array(memory, 0, 2)
  Atomics.add(words, versionAt, 1)
  new Uint8Array(memory).set(text, headerBytes)
  Atomics.store(words, lengthAt, text.length)
  Atomics.add(words, versionAt, 1)
}

/** What identifies a folder or file, whatever path leads to it; undefined when nothing is there. */
export function folderId(path: string | Buffer): string | undefined {
  try {
    return idOf(statSync(path))
  } catch {
    return undefined
  }
}

export const idOf = ({ dev, ino }: Pick<Stats, 'dev' | 'ino'>): string => `${dev} ${ino}`

/** One thread's view of what is allowed. */
export class AllowedView {
  readonly #memory: SharedArrayBuffer
  readonly #words: Int32Array
  #version = -1
  #allowed: Allowed = { roots: [], hosts: [] }

  constructor({ memory }: StoreBounds) {
    this.#memory = memory
    this.#words = new Int32Array(memory, 0, 2)
  }

  /** Another number after each change. */
  get version(): number {
    return Atomics.load(this.#words, versionAt)
  }

  get allowed(): Allowed {
    while (this.#version !== this.version) this.#read()
    return this.#allowed
  }

  /** Leaves what is known as it is while another thread writes, which takes microseconds. */
  #read(): void {
    const before = this.version
    if (before % 2 !== 0) return
    const bytes = Buffer.alloc(Atomics.load(this.#words, lengthAt))
    bytes.set(new Uint8Array(this.#memory, headerBytes, bytes.length))
    if (this.version !== before) return
    this.#allowed = JSON.parse(bytes.toString()) as Allowed
    this.#version = before
  }
}
