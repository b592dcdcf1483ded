import { readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** That which a platform serves now, and that of the state of the sources before. */
const kept = 2

/** Removes all builds of a folder but those that were used last. @param isBuild by the name of its folder */
export function removeOldBuilds(folder: string, isBuild: (name: string) => boolean): void {
  const builds = readdirSync(folder)
    .filter(isBuild)
    .map((name) => join(folder, name))
    .toSorted((one, other) => statSync(other).mtimeMs - statSync(one).mtimeMs)
  for (const build of builds.slice(kept)) rmSync(build, { recursive: true, force: true })
}
