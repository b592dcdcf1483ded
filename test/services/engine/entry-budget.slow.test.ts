import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { fillWithNames } from '../../support/many-files.ts'
import { createFolder } from '../../support/migrations.ts'

test(
  'large folders that a thread lists at once do not end it, whatever its memory',
  { timeout: 60_000 },
  async () => {
    using folder = createFolder('many')
    const [count, listings] = [8_000, 16]
    fillWithNames(folder.many, count, (index) => `a file of some length ${index}`)
    // All of them together take some 70 MB.
    const worker = new Worker(new URL('./listing-thread.ts', import.meta.url), {
      workerData: { root: join(folder.many, '..'), listings },
      resourceLimits: { maxOldGenerationSizeMb: 56 },
      execArgv: [],
    })
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    worker.on('message', resolve).on('error', reject)
    expect(await promise).toBe(count * listings)
    await worker.terminate()
  },
)
