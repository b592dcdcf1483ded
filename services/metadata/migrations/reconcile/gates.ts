/** A migration of files between the filesystems of both catalogs. Plain data. */
export interface Gate {
  readonly migrationId: string
  /** Folder that it brings; a path in the source's filesystem. */
  readonly path: string
  /** All that was in it until then is at the target, in milliseconds since 1970, Infinity where that is all there will be; undefined while it is scanned for the first time. */
  readonly arrivedUntilMs?: number
  /** Its state, for people. */
  readonly state: string
}

/**
 * Why the files of a table are not all at the target yet; undefined where they are, and where no migration brings them.
 * @param path of the table's folder
 * @param sinceMs when it was seen first that they are wanted
 */
export function refusalOfGates(
  gates: readonly Gate[],
  path: string | undefined,
  sinceMs: number,
): string | undefined {
  if (path === undefined) return undefined
  const around = gates.filter(
    ({ path: folder }) => folder === '/' || path === folder || path.startsWith(`${folder}/`),
  )
  if (around.length === 0 || around.some(({ arrivedUntilMs = 0 }) => arrivedUntilMs >= sinceMs))
    return undefined
  const [{ migrationId, state, arrivedUntilMs }] = around as [Gate, ...Gate[]]
  return `its files are brought by the migration ${migrationId}, which is ${state}${
    arrivedUntilMs === undefined ? ' and has not brought all yet' : ' and not up to date'
  }`
}
