import {
  type PlanAction,
  type PlanCount,
  planCounts,
  type PlanCounts,
} from '../../../subjects/migrations/model/plan-terms.ts'
import { type ExcludedByRule, maxSamples } from '../../../subjects/migrations/plan.ts'
import type { Mover, MoveSpec } from '../../engine/mover.ts'
import {
  type PathKind,
  plannedPaths,
  type PlannedPath,
  ruleOfCount,
  type ToldPath,
} from '../../engine/walk/plan.ts'
import type { PlanBy } from '../../engine/walk/plan-by.ts'
import { encodeFolder } from '../../engine/walk/walk-folder.ts'
import { walkAll } from '../../engine/walk/walk-all.ts'

export type Planning = Pick<Mover, 'plan' | 'walksAtOnce'>

/** What is planned so far. */
export class Planned {
  readonly counts = Object.fromEntries(Object.keys(planCounts).map((name) => [name, 0])) as PlanCounts
  readonly #excluded = new Map<string, Record<PathKind, number>>()
  readonly #told = new Map<PlanAction, Record<ToldPath['of'], PlannedPath[]>>()

  add(counts: Readonly<Record<string, number>>, lines: string): void {
    for (const [name, more] of Object.entries(counts)) {
      const rule = ruleOfCount(name)
      if (rule === undefined) this.counts[name as PlanCount] += more
      else this.#addExcluded(rule, more)
    }
    for (const line of lines.split('\n')) {
      if (line === '') continue
      const { of, ...planned } = JSON.parse(line) as ToldPath
      const told = this.#told.get(planned.action) ?? { file: [], folder: [] }
      this.#told.set(planned.action, told)
      if (told[of].length < maxSamples) told[of].push(planned)
    }
  }

  #addExcluded({ id, of }: { readonly id: string; readonly of: PathKind }, more: number): void {
    const known = this.#excluded.get(id) ?? { file: 0, folder: 0 }
    this.#excluded.set(id, known)
    known[of] += more
  }

  /** What each of these exclusions leaves out. */
  excludedBy(ids: readonly string[]): ExcludedByRule[] {
    return ids.map((id) => {
      const { file: files = 0, folder: folders = 0 } = this.#excluded.get(id) ?? {}
      return { id, files, folders }
    })
  }

  get samples(): PlannedPath[] {
    // A new folder is told together with what is beside it, before it is listed.
    const unreadable = new Set(this.#told.get('UNREADABLE')?.file.map(({ path }) => path))
    const others = (planned: readonly PlannedPath[]) => planned.filter(({ path }) => !unreadable.has(path))
    return [...this.#told].flatMap(([action, { file, folder: told }]) => {
      const folder = action === 'COPY' ? others(told) : told
      const folders = folder.slice(0, Math.max(maxFolders, maxSamples - file.length))
      return [...folders, ...file.slice(0, maxSamples - folders.length)].toSorted(byPath)
    })
  }
}

/** Folders among the samples of an action where there are enough files: a walk comes to most folders first, and people look for files. */
const maxFolders = maxSamples / 4

const byPath = (one: PlannedPath, other: PlannedPath): number =>
  one.path === other.path ? 0 : one.path < other.path ? -1 : 1

/**
 * Plans all of a migration, or some folders of it.
 * @param options `paths`: relative to the migration's path; `spillFolder`: see `walkAll`
 */
export async function planAll(
  mover: Planning,
  spec: MoveSpec,
  options: {
    readonly by: PlanBy
    readonly paths?: readonly Buffer[]
    readonly planned: Planned
    readonly spillFolder: string
    readonly signal: AbortSignal
  },
): Promise<void> {
  const { by, paths = [Buffer.alloc(0)], planned, spillFolder, signal } = options
  await walkAll({
    start: paths.map((path) => encodeFolder({ path, side: 'unknown' })),
    atOnce: mover.walksAtOnce,
    spillFolder,
    step: (folders, take, stop) => mover.plan(spec, by, folders, take, stop),
    take: async ({ counts, lines }) => planned.add(counts, lines[plannedPaths] ?? ''),
    signal,
  })
}
