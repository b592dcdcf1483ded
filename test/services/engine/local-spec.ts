import type { MoveSpec } from '../../../services/engine/mover.ts'

interface Folders {
  readonly from: string
  readonly to: string
}

/** The engine's part of a migration of everything from one folder to the other. */
export const localSpec = ({ from, to }: Folders, options: Partial<MoveSpec> = {}): MoveSpec => ({
  id: '8d7c7c1e-4d3c-4f0e-9a53-0c7f5d1c2b3a',
  generation: 1,
  root: new Uint8Array(0),
  source: { kind: 'local', options: { fsRoot: from } },
  target: { kind: 'local', options: { fsRoot: to } },
  policy: 'Overwrite',
  ...options,
})

/** That of a migration that began a minute ago: what a test makes at the target is the migration's own. */
export const liveSpec = (folders: Folders, options: Partial<MoveSpec> = {}) => ({
  ...localSpec(folders, options),
  live: { startedMs: Date.now() - 60_000 },
})
