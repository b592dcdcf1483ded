import { notAccepted } from '../../../../subjects/kit/errors.ts'
import type { StorePath } from '../../../drivers/contract/driver.ts'
import { pathFromText, textFromPath } from '../../../drivers/paths/path-text.ts'
import { isWithin, relativePath } from '../../../engine/items/paths.ts'

const field = 'originalPaths'

/** A path below the root of a migration, relative to it. @throws GantryError NOT_ACCEPTED when it is elsewhere */
export function pathWithin(root: Uint8Array, text: string): StorePath {
  const path = pathFromText(text, field)
  const folder = Buffer.from(root)
  if (isWithin(folder, path)) return relativePath(folder, path)
  throw refused(`contains ${text}, which is outside the path of the migration, ${textFromPath(folder)}`)
}

/**
 * Paths that are to be verified as they are stored, all of the migration when none are given.
 * @throws GantryError NOT_ACCEPTED when one is elsewhere, or within another
 */
export function pathsWithin(migrationPath: string, originalPaths: readonly string[]): string[] {
  const root = pathFromText(migrationPath)
  if (originalPaths.length === 0) return [migrationPath]
  const paths = originalPaths.map((text) => ({ text, path: pathWithin(root, text) }))
  for (const one of paths) {
    const other = paths.find((candidate) => candidate !== one && isWithin(one.path, candidate.path))
    if (other !== undefined)
      throw refused(`contains ${other.text}, which is inside ${one.text}; remove one of them`)
  }
  return originalPaths.map((text) => textFromPath(pathFromText(text, field)))
}

const refused = (problem: string) => notAccepted(field, problem)
