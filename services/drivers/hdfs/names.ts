import { isUtf8 } from 'node:buffer'
import type { StorePath } from '../contract/driver.ts'
import { failed } from './errors.ts'

/** `HdfsConstants` of Hadoop: characters, and segments. */
const maxPathLength = 8_000
const maxPathDepth = 1_000

/** Names that HDFS has for itself. */
const reserved = new Set(['.snapshot', '.reserved'])

/** Why nothing can be written under this path, or undefined. */
export function refuseName(path: StorePath, maxNameBytes: number): string | undefined {
  const reason = impossible(path)
  if (reason !== undefined) return reason
  const segments = path.toString('utf8').split('/')
  const own = segments.find((segment) => reserved.has(segment))
  if (own !== undefined) return `the name ${own} is one that HDFS keeps for itself`
  const long = segments.map((segment) => Buffer.byteLength(segment)).find((length) => length > maxNameBytes)
  return long === undefined
    ? undefined
    : `a name has ${long} bytes, the limit of the cluster is ${maxNameBytes}`
}

function impossible(path: StorePath): string | undefined {
  if (!isUtf8(path)) return 'the name is not UTF-8, and HDFS keeps names as Unicode text'
  const text = path.toString('utf8')
  if (text.includes(':')) return 'the name has a colon, which HDFS keeps for itself'
  if (text.length + 1 > maxPathLength)
    return `the path has ${text.length + 1} characters, the limit of HDFS is ${maxPathLength}`
  const depth = text.split('/').length
  return depth > maxPathDepth
    ? `the path has ${depth} segments, the limit of HDFS is ${maxPathDepth}`
    : undefined
}

/** Throws `name` where `refuseName` gives a reason. */
export function requireWritable(path: StorePath, maxNameBytes: number, what: () => string): void {
  const reason = path.length === 0 ? 'it is the root' : refuseName(path, maxNameBytes)
  if (reason !== undefined) throw failed('name', what(), reason)
}

/** Whether something may stand under this path, such as a snapshot: else nobody is asked. */
export const mayExist = (path: StorePath): boolean => impossible(path) === undefined
