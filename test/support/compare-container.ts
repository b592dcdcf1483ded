import type { ContainerClient } from '@azure/storage-blob'
import { createHash, hash } from 'node:crypto'
import { lstatSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { textFromPath } from '../../services/drivers/paths/path-text.ts'
import { walkTree } from './compare-trees.ts'

/** Differences that are told; more of them say no more. */
const maxDifferences = 20

/** For what is downloaded: processors have instructions for it, and MD5 takes four times as long. */
const digestName = 'sha256'

interface Blob {
  readonly isFolder: boolean
  readonly bytes: number
  /** The service's own digest of what it stored in one piece; of what came in blocks it knows none. */
  readonly md5: string | undefined
}

/**
 * What differs between a folder and a container, in words: names, types, sizes and contents by digest. Links and what
 * `isLost` says are expected to be missing.
 */
export async function compareContainer(
  root: string,
  container: ContainerClient,
  isLost: (path: Buffer) => boolean,
): Promise<string[]> {
  const blobs = await blobsOf(container)
  const differences: string[] = []
  for (const { path, stat } of walkTree(root)) {
    if (stat.isSymbolicLink() || isLost(path)) continue
    const name = path.toString()
    const blob = blobs.get(name)
    blobs.delete(name)
    const problem = await problemOf(join(root, name), stat, blob, () => downloadedDigest(container, name))
    if (problem !== undefined) differences.push(`${textFromPath(path)} ${problem}`)
    if (differences.length >= maxDifferences) return differences
  }
  for (const name of blobs.keys()) differences.push(`${textFromPath(Buffer.from(name))} is too many`)
  return differences.slice(0, maxDifferences)
}

/**
 * How many files a container has, and what in it is not what stands at its name in a folder, in words; what is missing is
 * not told.
 */
export async function lookAtBlobs(
  root: string,
  container: ContainerClient,
): Promise<{ files: number; partial: string[] }> {
  const partial: string[] = []
  let files = 0
  for (const [name, blob] of await blobsOf(container)) {
    if (!blob.isFolder) files += 1
    const path = join(root, name)
    const stat = lstatSync(path, { bigint: true, throwIfNoEntry: false })
    const problem =
      stat === undefined
        ? 'is too many'
        : await problemOf(path, stat, blob, () => downloadedDigest(container, name))
    if (problem !== undefined) partial.push(`${textFromPath(Buffer.from(name))} ${problem}`)
  }
  return { files, partial }
}

async function blobsOf(container: ContainerClient): Promise<Map<string, Blob>> {
  const blobs = new Map<string, Blob>()
  for await (const { name, metadata, properties } of container.listBlobsFlat({ includeMetadata: true })) {
    const { contentLength = 0, contentMD5 } = properties
    const md5 = contentMD5 === undefined ? undefined : Buffer.from(contentMD5).toString('hex')
    // The client leaves this reference as it came.
    blobs.set(name.replaceAll('&#xD;', '\r'), {
      isFolder: metadata?.['hdi_isfolder'] === 'true',
      bytes: contentLength,
      md5,
    })
  }
  return blobs
}

async function problemOf(
  path: string,
  stat: { isDirectory(): boolean; size: bigint },
  blob: Blob | undefined,
  download: () => Promise<string>,
): Promise<string | undefined> {
  if (blob === undefined) return 'is missing'
  if (stat.isDirectory() !== blob.isFolder) return stat.isDirectory() ? 'became a file' : 'became a folder'
  if (blob.isFolder) return undefined
  if (Number(stat.size) !== blob.bytes) return `${stat.size} bytes became ${blob.bytes}`
  const isSame =
    blob.md5 === undefined
      ? hash(digestName, readFileSync(path)) === (await download())
      : hash('md5', readFileSync(path)) === blob.md5
  return isSame ? undefined : 'has another content'
}

async function downloadedDigest(container: ContainerClient, name: string): Promise<string> {
  const { readableStreamBody } = await container.getBlobClient(name).download()
  if (readableStreamBody === undefined) throw new Error(`${name} has no body`)
  const digest = createHash(digestName)
  for await (const chunk of readableStreamBody) digest.update(chunk)
  return digest.digest('hex')
}
