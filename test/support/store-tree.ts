import { createHash } from 'node:crypto'
import {
  type Driver,
  type Entry,
  type FileAttributes,
  type PartBody,
  StoreError,
  type StorePath,
} from '../../services/drivers/contract/driver.ts'
import { joinPath } from '../../services/engine/items/paths.ts'
import { textFromPath } from '../../services/drivers/paths/path-text.ts'

/** What stands at a path of a store. */
export interface Found {
  readonly path: StorePath
  readonly type: Entry['type']
  readonly sizeBytes: number
  /** Of the content, as it is read. */
  readonly sha256?: string
  readonly attributes: FileAttributes
}

const never = new AbortController().signal
const readBytes = 4 * 1024 * 1024
/** Questions to a store at once. */
const questions = 8

/** Writes a file as the engine does: with one request, or in parts where it is larger than that takes. */
export async function writeFile(
  driver: Driver,
  path: StorePath,
  bytes: Buffer,
  attributes: FileAttributes,
): Promise<void> {
  const { maxPutBytes, parts } = driver.capabilities
  if (bytes.length <= maxPutBytes) {
    await driver.put(path, bytes, attributes)
    return
  }
  const upload = await driver.beginUpload(path, { sizeBytes: bytes.length, tag: 'test', attributes })
  const partBytes = parts.sizeFor(bytes.length)
  let count = 0
  for (let offset = 0; offset < bytes.length; offset += partBytes, count++) {
    const part = bytes.subarray(offset, offset + partBytes)
    const body: PartBody = {
      sizeBytes: part.length,
      read: async (from, length) => part.subarray(from, from + length),
    }
    await driver.writePart(upload, count, offset, body)
  }
  await driver.commitUpload(upload, count, attributes)
}

/** All below a folder by their paths in it, contents read; links and others without. */
export async function readTree(driver: Driver, folder: StorePath): Promise<Map<string, Found>> {
  const found = new Map<string, Found>()
  const folders = [folder]
  for (let at = folders.pop(); at !== undefined; at = folders.pop()) {
    const entries: Entry[] = []
    for await (const page of driver.list(at, never)) entries.push(...page.entries)
    const within = at
    await each(entries, async ({ name, type, sizeBytes }) => {
      const path = joinPath(within, name)
      if (type === 'folder') folders.push(path)
      const isRead = type === 'file' || type === 'folder'
      const attributes = isRead ? ((await driver.attributesOf(path)) ?? {}) : {}
      const sha256 = type === 'file' ? await digestOf(driver, path) : undefined
      const key = path.subarray(folder.length === 0 ? 0 : folder.length + 1)
      found.set(key.toString('latin1'), {
        path,
        type,
        sizeBytes,
        attributes,
        ...(sha256 !== undefined && { sha256 }),
      })
    })
  }
  return found
}

async function digestOf(driver: Driver, path: StorePath): Promise<string> {
  const file = await driver.open(path)
  try {
    const digest = createHash('sha256')
    for (let offset = 0; offset < file.sizeBytes; offset += readBytes)
      digest.update(await file.read(offset, Math.min(readBytes, file.sizeBytes - offset)))
    await file.verifyUnchanged()
    return digest.digest('base64')
  } finally {
    await file.close()
  }
}

/** Does something for each, several at once. */
export async function each<T>(all: readonly T[], work: (one: T) => Promise<void>): Promise<void> {
  const left = all.values()
  await Promise.all(
    Array.from({ length: questions }, async () => {
      for (const one of left) await work(one)
    }),
  )
}

/** A microsecond, and what a double near today's milliseconds is off by. */
const exactMs = 0.0015

/** What of one tree is not in another as it should be, and what is too many there, in words: types, contents, times and modes. */
export function treeDifferences(
  [from, to]: readonly [Map<string, Found>, Map<string, Found>],
  stores: readonly [Driver, Driver],
  times: 'all' | 'files' | 'none' = 'all',
): string[] {
  const keepModes = stores.every(({ capabilities }) => capabilities.modes)
  const grainMs = Math.max(exactMs, ...stores.map(({ capabilities }) => capabilities.clock.grainMs ?? 0))
  const differences: string[] = []
  for (const [key, one] of from) {
    const other = to.get(key)
    const said = (text: string) => differences.push(`${textFromPath(Buffer.from(key, 'latin1'))}: ${text}`)
    if (other === undefined) {
      said('is missing')
      continue
    }
    if (one.type !== other.type) said(`${one.type} became ${other.type}`)
    if (one.sizeBytes !== other.sizeBytes) said(`${one.sizeBytes} bytes became ${other.sizeBytes}`)
    if (one.sha256 !== other.sha256) said('another content')
    const { modifiedMs, mode } = one.attributes
    const its = other.attributes
    const isTimed = times === 'all' || (times === 'files' && one.type === 'file')
    if (isTimed && modifiedMs !== undefined && !(Math.abs(modifiedMs - (its.modifiedMs ?? NaN)) <= grainMs))
      said(`its time ${modifiedMs} became ${its.modifiedMs}`)
    if (keepModes && mode !== undefined && mode !== its.mode)
      said(`its mode ${mode.toString(8)} became ${its.mode?.toString(8)}`)
  }
  for (const key of to.keys())
    if (!from.has(key)) differences.push(`${textFromPath(Buffer.from(key, 'latin1'))}: is too many`)
  return differences
}

/**
 * What of a folder is not alike in two stores now, while a live migration may still be at it.
 * @param folderThere its place at the target
 */
export async function liveDifferences(
  stores: readonly [source: Driver, target: Driver],
  folder: StorePath,
  folderThere = folder,
): Promise<string[]> {
  const [source, target] = stores
  try {
    const [from, to] = await Promise.all([readTree(source, folder), readTree(target, folderThere)])
    // A change in a folder does not move its marker in a bucket: that would be a request for each file.
    return treeDifferences([from, to], stores, 'files')
  } catch (error) {
    // Something went while it was looked at: what is to be there is not.
    if (error instanceof StoreError) return [error.message]
    throw error
  }
}
