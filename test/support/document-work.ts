import type { WorkSides } from '../../services/metadata/migrations/reconcile/questions.ts'
import type { DocumentLake, LakeSide } from './document-lake.ts'

/** Both sides of a lake, as threads that bring metadata are told of them. */
export function workSides({ root }: DocumentLake): WorkSides {
  const at = (side: LakeSide) =>
    ({
      kind: 'filesystem',
      options: { fileSystemId: side },
      filesystem: { kind: 'local', options: { fsRoot: `${root}/${side}` } },
    }) as const
  return {
    source: at('source'),
    target: at('target'),
    locations: { from: [], to: undefined, mappings: [] },
    statistics: 'all',
    onConflict: 'report',
  }
}
