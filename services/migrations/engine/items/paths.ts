import { isUtf8 } from 'node:buffer'
import type { StorePath } from '../../../drivers/driver.ts'
import { problemOfPath } from '../../../drivers/path-text.ts'

export { pathFromText, textFromPath } from '../../../drivers/path-text.ts'

/** A name or path in JSON: as it is when it is UTF-8, else its bytes in base64. Never normalised. */
export type JsonBytes = string | { readonly b: string }

/** Bytes as JSON; `bytesFromJson` gives back the same. */
export const jsonFromBytes = (bytes: Buffer): JsonBytes =>
  isUtf8(bytes) ? bytes.toString() : { b: bytes.toString('base64') }

/** Bytes of a name or path from JSON. */
export const bytesFromJson = (json: JsonBytes): Buffer =>
  typeof json === 'string' ? Buffer.from(json) : Buffer.from(json.b, 'base64')

const slash = Buffer.from('/')

/** One path from two; an empty one is the root and adds nothing. */
export function joinPath(folder: StorePath, rest: StorePath): StorePath {
  if (folder.length === 0) return rest
  return rest.length === 0 ? folder : Buffer.concat([folder, slash, rest])
}

/** Whether a path is a folder or in it; the empty one is the root, in which all are. */
export const isWithin = (folder: StorePath, path: StorePath): boolean =>
  folder.length === 0 ||
  (path.subarray(0, folder.length).equals(folder) &&
    (path.length === folder.length || path[folder.length] === 0x2f))

/** The path of something in a folder as that folder sees it. */
export const relativePath = (folder: StorePath, path: StorePath): StorePath =>
  path.subarray(folder.length === 0 ? 0 : folder.length + 1)

/** Whether bytes may be the name of an entry: not empty, `.` or `..`, without slash and NUL. */
export const isName = (name: Buffer): boolean =>
  name.length > 0 && !name.includes(0x2f) && problemOfPath(name) === undefined

/** Whether bytes may be a path relative to a root. */
export const isPath = (path: Buffer): boolean => problemOfPath(path) === undefined
