import { isUtf8 } from 'node:buffer'
import type { StorePath } from '../contract/driver.ts'

/** "Object name requirements". A folder's marker has a slash more. */
const maxNameBytes = 1_024 - 1
const reserved = '.well-known/acme-challenge/'

/** The name of the object at a path, or undefined when no object can have it. */
export const keyOf = (path: StorePath): string | undefined =>
  impossible(path) === undefined ? path.toString('utf8') : undefined

/** Why nothing can be written under this path, or undefined. */
export function refuseName(path: StorePath): string | undefined {
  const reason = impossible(path)
  if (reason !== undefined) return reason
  const isReserved = `${path.toString('utf8')}/`.startsWith(reserved)
  return isReserved ? `names that begin with ${reserved} are not taken by Cloud Storage` : undefined
}

function impossible(path: StorePath): string | undefined {
  if (!isUtf8(path)) return 'the name is not UTF-8, and Cloud Storage keeps names as Unicode text'
  if (path.length > maxNameBytes)
    return `the path has ${path.length} bytes, the limit of Cloud Storage is ${maxNameBytes}`
  if (path.includes('\n') || path.includes('\r'))
    return 'the name has a line feed or a carriage return, which Cloud Storage does not take'
  return undefined
}
