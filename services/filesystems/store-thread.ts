import { parentPort, workerData } from 'node:worker_threads'
import type { StoreBounds } from '../drivers/contract/bounds.ts'
import { addKinds } from '../drivers/index.ts'
import { sendableError } from '../drivers/contract/sent-error.ts'
import { answer, type Answer, type Question } from './questions.ts'

/** Entry point of a worker thread that asks stores, one question after the other. */

const port = parentPort
if (port === null) throw new Error('this file is the entry point of a worker thread')

const { bounds, kinds } = workerData as {
  readonly bounds: StoreBounds | undefined
  readonly kinds: readonly string[]
}
// Questions that come meanwhile wait in the port.
await addKinds(kinds)

port.on('message', (question: Question) => {
  void answer(question, bounds)
    .then(
      (answered): Answer => answered,
      (error: unknown): Answer => ({ error: sendableError(error) }),
    )
    .then((message) => port.postMessage(message, []))
})
