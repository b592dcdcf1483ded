import { parentPort, workerData } from 'node:worker_threads'
import { openDriver } from '../../../services/drivers/index.ts'
import { lookBeside } from '../../../services/engine/tree/beside.ts'
import { createRun } from './runs.ts'

/** A thread that lists folders of a target at once, as one does over a network, and tells how many entries it saw. */
const { root, listings } = workerData as { root: string; listings: number }
const driver = await openDriver({ kind: 'local', options: { fsRoot: root } }, 'target')
const run = createRun(driver, driver)
let entries = 0
await Promise.all(
  Array.from({ length: listings }, async () => {
    using beside = await lookBeside(run, Buffer.from('many'))
    if (beside !== undefined) for await (const batch of beside.rest()) entries += batch.length
  }),
)
parentPort?.postMessage(entries, [])
