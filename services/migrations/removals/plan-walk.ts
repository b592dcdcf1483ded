import {
  type PlanAction,
  type PlanCount,
  planCounts,
  type PlanCounts,
} from '../../../subjects/migrations/model/plan-terms.ts'
import { maxSamples } from '../../../subjects/migrations/plan.ts'
import type { Mover, MoveSpec } from '../../engine/mover.ts'
import { plannedPaths, type PlannedPath } from '../../engine/walk/plan.ts'
import type { PlanBy } from '../../engine/walk/plan-by.ts'
import { encodeFolder } from '../../engine/walk/walk-folder.ts'
import { walkAll } from '../../engine/walk/walk-all.ts'

export type Planning = Pick<Mover, 'plan' | 'walksAtOnce'>

/** What is planned so far. */
export class Planned {
  readonly counts = Object.fromEntries(Object.keys(planCounts).map((name) => [name, 0])) as PlanCounts
  readonly #samples = new Map<PlanAction, PlannedPath[]>()

  add(counts: Readonly<Record<string, number>>, lines: string): void {
    for (const [name, more] of Object.entries(counts)) this.counts[name as PlanCount] += more
    for (const line of lines.split('\n')) {
      if (line === '') continue
      const planned = JSON.parse(line) as PlannedPath
      const known = this.#samples.get(planned.action) ?? []
      this.#samples.set(planned.action, known)
      if (known.length < maxSamples) known.push(planned)
    }
  }

  get samples(): PlannedPath[] {
    return [...this.#samples.values()].flatMap((paths) => paths.toSorted(byPath))
  }
}

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
