import { wantedKills } from './settings.ts'

export type VictimName = 'platform' | 'nats-server' | 'agent'

/** One process that was there, with work in hand or waiting, and was killed. */
export interface Kill {
  readonly victim: VictimName
  /** What the migration was at. */
  readonly phase: string
  readonly atMs: number
}

/** What was killed in all cases of this run. */
export class Tally {
  readonly #kills = new Map<string, Kill[]>()

  add(name: string, kills: readonly Kill[]): void {
    this.#kills.set(name, [...this.of(name), ...kills])
  }

  of(name: string): readonly Kill[] {
    return this.#kills.get(name) ?? []
  }

  get sum(): number {
    return [...this.#kills.values()].reduce((sum, kills) => sum + kills.length, 0)
  }

  /** Kills by case, victim and phase, in lines. */
  get text(): string {
    const lines = [...this.#kills].map(([name, kills]) => {
      const victims = count(kills.map(({ victim }) => victim))
      return `${name}: ${kills.length} (${victims}; ${count(kills.map(({ phase }) => phase))})`
    })
    return [...lines, `kills -9 in all: ${this.sum} of ${wantedKills} that are wanted`].join('\n')
  }
}

function count(names: readonly string[]): string {
  const counts = Map.groupBy(names, (name) => name)
  return [...counts].map(([name, all]) => `${name} ${all.length}`).join(', ')
}
