import { isUtf8 } from 'node:buffer'
import type { StorePath } from '../contract/driver.ts'
import { refuseUnlistable } from '../http/xml.ts'

/** "Object key naming guidelines". A folder's marker has a slash more. */
const maxKeyBytes = 1_024 - 1

/** The key of what is at a path, or undefined when no object can have it. */
export const keyOf = (path: StorePath): string | undefined =>
  impossible(path) === undefined ? path.toString('utf8') : undefined

/** Why nothing can be written under this path, or undefined. What a single service refuses beyond that it says itself. */
export const refuseName = (path: StorePath): string | undefined =>
  impossible(path) ?? refuseUnlistable(path.toString('utf8'))

/** Why no folder that the path goes through can be marked, or undefined. @param maxBytes of the name of one */
export function refuseFolders(path: StorePath, maxBytes: number | undefined): string | undefined {
  if (maxBytes === undefined || path.length <= maxBytes) return undefined
  let begin = 0
  for (let end = path.indexOf(slash); end >= 0; begin = end + 1, end = path.indexOf(slash, begin))
    if (end - begin > maxBytes)
      return `it is in a folder whose name has ${end - begin} bytes, the limit of this service is ${maxBytes}`
  return undefined
}

const slash = 0x2f

function impossible(path: StorePath): string | undefined {
  if (!isUtf8(path)) return 'the name is not UTF-8, and S3 keeps keys as Unicode text'
  if (path.length > maxKeyBytes) return `the path has ${path.length} bytes, the limit of S3 is ${maxKeyBytes}`
  return undefined
}
