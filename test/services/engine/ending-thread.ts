import { constants } from 'node:fs'
import { basename, dirname } from 'node:path'
import { parentPort, workerData } from 'node:worker_threads'
import { FolderEntries, useNativeCalls } from '../../../services/drivers/local/folder-entries.ts'
import { Pinned } from '../../../services/drivers/local/root.ts'
import type { ThreadData } from '../../../services/engine/threads/engine-thread.ts'
import type { FromThread, ToThread } from '../../../services/engine/threads/jobs.ts'

/**
 * A thread for the pool that does as it is told by the migration's id: answers, waits to be stopped, or ends, also with the
 * file open whose path follows.
 */
const send = (message: FromThread) => parentPort?.postMessage(message, [])

parentPort?.on('message', (message: ToThread) => {
  if (message.type === 'abort')
    send({ type: 'error', id: message.id, error: { message: 'stopped', stack: undefined } })
  if (message.type !== 'job') return
  const [told, file = ''] = message.job.spec.id.split(' ')
  if (told === 'crash-with') {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what `EngineThread` gives
    useNativeCalls((workerData as ThreadData).memory['local']!, 0)
    new FolderEntries(Pinned.at(Buffer.from(dirname(file)))).open(
      Buffer.from(basename(file)),
      constants.O_RDONLY,
    )
    throw new Error('on purpose')
  }
  if (message.job.spec.id === 'crash') throw new Error('on purpose')
  if (message.job.spec.id.startsWith('answer'))
    send({ type: 'reply', id: message.id, reply: { kind: 'done' } })
})
