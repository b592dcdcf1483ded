/** The folder of a path, as failures have paths. */
export const folderOf = (path: string): string => path.slice(0, Math.max(1, path.lastIndexOf('/')))

/** Whether a path, or a folder that it is in, is among some. */
export function isWithin(paths: Pick<ReadonlySet<string>, 'has'>, path: string): boolean {
  if (paths.has(path) || paths.has('/')) return true
  for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1))
    if (paths.has(path.slice(0, at))) return true
  return false
}
