import { parentPort } from 'node:worker_threads'
import type { FromThread, ToThread } from '../../../../services/migrations/engine/threads/jobs.ts'

/** A thread for the pool that does as it is told by the migration's id: answers, waits to be stopped, or ends. */
const send = (message: FromThread) => parentPort?.postMessage(message, [])

parentPort?.on('message', (message: ToThread) => {
  if (message.type === 'abort')
    send({ type: 'error', id: message.id, error: { message: 'stopped', stack: undefined } })
  if (message.type !== 'job') return
  if (message.job.spec.id === 'crash') throw new Error('on purpose')
  if (message.job.spec.id.startsWith('answer'))
    send({ type: 'reply', id: message.id, reply: { kind: 'done' } })
})
