import type { Driver } from '../../../../services/drivers/driver.ts'
import { Stop, type Run } from '../../../../services/migrations/engine/run.ts'

/** What a job in a thread has, for jobs in the test's own. */
export function createRun(source: Driver, target: Driver, changes: Partial<Run> = {}): Run {
  const kind = { kind: 'local', options: {} } as const
  const spec = {
    id: 'migration',
    generation: 1,
    root: Buffer.alloc(0),
    source: kind,
    target: kind,
    policy: 'Overwrite',
  } as const
  return { spec, source, target, stop: new Stop(new Int32Array(1)), liveThreads: undefined, ...changes }
}
