import { isUtf8 } from 'node:buffer'
import { problemOfPath } from '../../drivers/paths/path-text.ts'

export {
  isName,
  isWithin,
  joinPath,
  pathFromText,
  relativePath,
  textFromPath,
} from '../../drivers/paths/path-text.ts'

/** A name or path in JSON: as it is when it is UTF-8, else its bytes in base64. Never normalised. */
export type JsonBytes = string | { readonly b: string }

/** Bytes as JSON; `bytesFromJson` gives back the same. */
export const jsonFromBytes = (bytes: Buffer): JsonBytes =>
  isUtf8(bytes) ? bytes.toString() : { b: bytes.toString('base64') }

/** Bytes of a name or path from JSON. */
export const bytesFromJson = (json: JsonBytes): Buffer =>
  typeof json === 'string' ? Buffer.from(json) : Buffer.from(json.b, 'base64')

/** Whether bytes may be a path relative to a root. */
export const isPath = (path: Buffer): boolean => problemOfPath(path) === undefined
