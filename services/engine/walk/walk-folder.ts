import type { Entry, StorePath } from '../../drivers/contract/driver.ts'
import { bytesFromJson, jsonFromBytes, type JsonBytes } from '../items/paths.ts'

/** Where a folder is; `unknown` for a path that nobody has looked at, which may be a file. */
export type Side = 'both' | 'source' | 'target' | 'unknown'

/** A folder that is to be walked through. */
export interface WalkFolder {
  /** Relative to the migration's path. Of a folder of the target alone, where it would come from. */
  readonly path: StorePath
  readonly side: Side
  /** Levels of it that are wanted; not there for all of them. */
  readonly levels?: number
  /** Of a folder of the target alone: where it is there. */
  readonly there?: StorePath
}

/** On which sides a folder stands; undefined where none does. */
export function sideOf({
  source,
  target,
}: {
  source: Entry | undefined
  target: Entry | undefined
}): Side | undefined {
  const isThere = target?.type === 'folder'
  if (source?.type === 'folder') return isThere ? 'both' : 'source'
  return isThere ? 'target' : undefined
}

type Encoded = [path: JsonBytes, side: Side, levels?: number | null, there?: JsonBytes]

/** One line of text: folders wait in memory, in a file, and go to threads. */
export function encodeFolder({ path, side, levels, there }: WalkFolder): string {
  const encoded: Encoded = [jsonFromBytes(path), side]
  if (levels !== undefined || there !== undefined) encoded.push(levels ?? null)
  if (there !== undefined) encoded.push(jsonFromBytes(there))
  return JSON.stringify(encoded)
}

/** What `encodeFolder` was given. */
export function decodeFolder(text: string): WalkFolder {
  const [path, side, levels, there] = JSON.parse(text) as Encoded
  return {
    path: bytesFromJson(path),
    side,
    ...(levels === undefined || levels === null ? {} : { levels }),
    ...(there === undefined ? {} : { there: bytesFromJson(there) }),
  }
}
