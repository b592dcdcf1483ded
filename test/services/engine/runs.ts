import type { Driver } from '../../../services/drivers/contract/driver.ts'
import { MeterView } from '../../../services/engine/run/meter.ts'
import { Pace } from '../../../services/engine/run/pace.ts'
import type { Run } from '../../../services/engine/run/run.ts'
import { Stop } from '../../../services/engine/run/stop.ts'

/** For copies of which nobody wants to know what was not kept. */
export const untold = { losses: () => undefined, names: () => undefined }

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
  const stop = new Stop(new Int32Array(1))
  return {
    spec,
    source,
    target,
    stop,
    pace: new Pace([], stop),
    meter: new MeterView(undefined),
    abandon: (upload) => target.abortUpload(upload),
    liveThreads: undefined,
    ...changes,
  }
}
