import type { Renamed, RenamedThere } from '../../drivers/feeds/dirty-folders.ts'
import type { Entry, StorePath } from '../../drivers/contract/driver.ts'
import { parentOf } from '../../drivers/paths/path-text.ts'
import { judgeFolder } from '../tree/judge.ts'
import { followsLinks, isOwn } from '../tree/live.ts'
import { isTrash } from '../tree/trash.ts'
import { atTarget, requireSource, storePath, type Run } from '../run/run.ts'

/**
 * Gives what was renamed at the source its new name at the target, where that has it under the old one: nothing of it is
 * copied again. To be called while nothing else writes to the target. What of it differs is for a comparison to find.
 * @param renamed one after the other, what is above before what is below
 * @returns those that are done; of the others each path is to be looked at by itself
 */
export async function renameAtTarget(run: Run, renamed: readonly Renamed[]): Promise<RenamedThere[]> {
  const { target, spec } = run
  // What mappings lead elsewhere has places of its own, and what links lead to is not renamed with them.
  if (target.rename === undefined || spec.mappings !== undefined || followsLinks(run)) return []
  const done: RenamedThere[] = []
  // What has a name that something else had in between may be that: names, sizes and times do not tell.
  const timesNamed = new Map<string, number>()
  for (const path of renamed.flatMap(({ from, to }) => [from, to]))
    timesNamed.set(path, (timesNamed.get(path) ?? 0) + 1)
  const isNamedOnce = (path: string) => timesNamed.get(path) === 1
  for (const one of renamed) {
    if (!isNamedOnce(one.from) || !isNamedOnce(one.to)) continue
    run.stop.check()
    const [from, to] = [one.from, one.to].map((path) => storePath(run, Buffer.from(path, 'latin1')))
    const type = await typeToRename(run, from!, to!)
    if (type === undefined) continue
    await atTarget(target.rename(from!, to!))
    done.push({ ...one, isFolder: type === 'folder' })
  }
  return done
}

/** What is to be renamed; undefined where that is not to be done. */
async function typeToRename(run: Run, from: StorePath, to: StorePath): Promise<Entry['type'] | undefined> {
  const { source, target, rules } = run
  if (isTrash(from) || isTrash(to)) return undefined
  // What is left out there may be taken here.
  if (rules !== undefined && (rules.mayTellApart(from) || rules.mayTellApart(to))) return undefined
  const there = await atTarget(target.stat(from, run.stop.signal))
  if (there === undefined || !isMovable(there) || !isOwn(run, there)) return undefined
  const folder = parentOf(to)
  const [now, before, inPlace, parent] = await Promise.all([
    source.stat(to, run.stop.signal),
    source.stat(from, run.stop.signal),
    atTarget(target.stat(to, run.stop.signal)),
    folder.length === 0 ? undefined : atTarget(target.stat(folder, run.stop.signal)),
  ])
  if (now?.type !== there.type || before !== undefined || inPlace !== undefined) return undefined
  if (folder.length > 0 && parent?.type !== 'folder') return undefined
  const { excludedBy, judge } = judgeFolder(run, folder)
  if (excludedBy !== undefined || judge(now) !== 'taken') return undefined
  await requireSource(run)
  return now.type
}

const isMovable = ({ type }: Entry): boolean => type === 'file' || type === 'folder'
