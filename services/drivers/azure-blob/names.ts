import { isUtf8 } from 'node:buffer'
import { notAccepted } from '../../../subjects/kit/errors.ts'
import { failed } from './errors.ts'
import type { StorePath } from '../contract/driver.ts'
import { refuseUnlistable } from '../http/xml.ts'

/**
 * Rules for blob names: "Naming and referencing containers, blobs, and metadata" in the Blob service's REST reference.
 * Characters are counted as the service does, in UTF-16 units.
 */
const maxNameChars = 1_024
const maxSegments = 254

/**
 * Path of the blob in a URL, without a leading slash. Encodes as Microsoft's clients do, so that the signature is made of
 * the same text: every character but `A-Z a-z 0-9 - _ . ! ~ * ( )`.
 */
export const encodeBlobName = (name: string): string =>
  plain.test(name) ? name : encodeURIComponent(name).replaceAll('%2F', '/').replaceAll("'", '%27')

/** Most names: nothing to encode, decided in a fraction of the time. */
const plain = /^[\w.~/-]*$/

/** The blob's name, or undefined when no blob can have it. */
export const blobName = (path: StorePath): string | undefined =>
  impossible(path) === undefined ? path.toString('utf8') : undefined

/** Why a file must not be written under this path, or undefined. What the list leaves out the service refuses itself. */
export function refuseName(path: StorePath): string | undefined {
  const reason = impossible(path)
  if (reason !== undefined) return reason
  const name = path.toString('utf8')
  const unlistable = refuseUnlistable(name)
  if (unlistable !== undefined) return unlistable
  if (/\.(?:\/|$)/.test(name))
    return 'a segment of the path ends with a dot, which Azure advises against and may cut off'
  return undefined
}

function impossible(path: StorePath): string | undefined {
  if (!isUtf8(path)) return 'the name is not UTF-8, and Azure keeps names as Unicode text'
  const name = path.toString('utf8')
  if (name.length > maxNameChars)
    return `the path has ${name.length} characters, Azure's limit is ${maxNameChars}`
  const segments = name.split('/').length
  if (segments > maxSegments) return `the path has ${segments} segments, Azure's limit is ${maxSegments}`
  // The file would land in another folder.
  if (name.includes('\\')) return 'the name has a backslash, which Azure turns into a slash'
  return undefined
}

/** The name for a write. Throws `name` where `refuseName` gives a reason. */
export function writable(path: StorePath, what: () => string): string {
  const reason = path.length === 0 ? 'it is the root' : refuseName(path)
  if (reason !== undefined) throw failed('name', what(), reason)
  return path.toString('utf8')
}

/** Throws GantryError NOT_ACCEPTED for a directory that cannot be the root of a filesystem. @param directory empty for none */
export function refuseDirectory(directory: string): void {
  const reason = refuseName(Buffer.from(directory))
  const isWay = directory.split('/').some((segment) => segment === '.' || segment === '..')
  if (reason !== undefined || isWay)
    throw notAccepted('directory', `cannot be there: ${reason ?? 'it has . or .. in it'}`)
}
