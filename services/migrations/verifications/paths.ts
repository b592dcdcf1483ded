import { GantryError } from '../../../subjects/errors.ts'
import type { StorePath } from '../../drivers/driver.ts'
import { pathFromText, textFromPath } from '../../drivers/path-text.ts'

const slash = Buffer.from('/')
const field = 'originalPaths'

/** A path below the root of a migration, relative to it. @throws GantryError INVALID_INPUT when it is elsewhere */
export function pathWithin(root: Uint8Array, text: string): StorePath {
  const path = pathFromText(text, field)
  if (root.length === 0 || path.equals(root)) return path.subarray(root.length)
  const prefix = Buffer.concat([root, slash])
  if (path.subarray(0, prefix.length).equals(prefix)) return path.subarray(prefix.length)
  throw refused(`has ${text}, which is not within the migration's path ${textFromPath(Buffer.from(root))}`)
}

/**
 * Paths that are to be verified as they are stored, all of the migration when none are given.
 * @throws GantryError INVALID_INPUT when one is elsewhere, or within another
 */
export function pathsWithin(migrationPath: string, originalPaths: readonly string[]): string[] {
  const root = pathFromText(migrationPath)
  if (originalPaths.length === 0) return [migrationPath]
  const paths = originalPaths.map((text) => ({ text, path: pathWithin(root, text) }))
  for (const one of paths) {
    const other = paths.find((candidate) => candidate !== one && isWithin(candidate.path, one.path))
    if (other !== undefined)
      throw refused(`has ${other.text}, which is part of ${one.text}; leave one of them out`)
  }
  return originalPaths.map((text) => textFromPath(pathFromText(text, field)))
}

const isWithin = (path: StorePath, folder: StorePath): boolean =>
  folder.length === 0 ||
  path.equals(folder) ||
  path.subarray(0, folder.length + 1).equals(Buffer.concat([folder, slash]))

const refused = (problem: string) =>
  new GantryError('INVALID_INPUT', `input: ${field} ${problem}`, { details: [{ field, problem }] })
