import { shellWord } from '../../../../subjects/kit/shell-word.ts'

/** A migration of files between the filesystems of both catalogs. Plain data. */
export interface Gate {
  readonly migrationId: string
  /** Folder that it brings; a path in the source's filesystem. */
  readonly path: string
  /** All that was in it until then is at the target, in milliseconds since 1970, Infinity where that is all there will be; undefined while it is scanned for the first time. */
  readonly arrivedUntilMs?: number
  /** All that was changed until then has been told, in milliseconds since 1970; not there where changes are told at once. */
  readonly toldUntilMs?: number
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
  const [gate] = around as [Gate, ...Gate[]]
  return `its files are copied by the migration ${gate.migrationId}, which is ${gate.state} ${missingOf(gate, sinceMs)}`
}

/** The same for as long as it is so: each other text would be stored. */
function missingOf({ migrationId, path, arrivedUntilMs, toldUntilMs }: Gate, sinceMs: number): string {
  if (arrivedUntilMs === undefined) return 'and has not copied everything yet'
  if (toldUntilMs === undefined || toldUntilMs >= sinceMs) return 'and not up to date'
  const rescan = `gantry migrations add-pending-region ${shellWord(migrationId)} ${shellWord(path)}`
  return `and has not yet received all changes up to the time when the table was read; if its source does not report changes, rescan it: "${rescan}"`
}
