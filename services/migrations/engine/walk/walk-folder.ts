import type { StorePath } from '../../../drivers/driver.ts'
import { bytesFromJson, jsonFromBytes, type JsonBytes } from '../paths.ts'

/** Where a folder is; `unknown` for a path that nobody has looked at, which may be a file. */
export type Side = 'both' | 'source' | 'target' | 'unknown'

/** A folder that is to be walked through. */
export interface WalkFolder {
  /** Relative to the migration's path. */
  readonly path: StorePath
  readonly side: Side
  /** Levels of it that are wanted; not there for all of them. */
  readonly levels?: number
}

/** One line of text: folders wait in memory, in a file, and go to threads. */
export const encodeFolder = ({ path, side, levels }: WalkFolder): string =>
  JSON.stringify([jsonFromBytes(path), side, ...(levels === undefined ? [] : [levels])])

/** What `encodeFolder` was given. */
export function decodeFolder(text: string): WalkFolder {
  const [path, side, levels] = JSON.parse(text) as [JsonBytes, Side, number?]
  return { path: bytesFromJson(path), side, ...(levels === undefined ? {} : { levels }) }
}
