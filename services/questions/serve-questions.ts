import { parentPort } from 'node:worker_threads'
import { sendableError } from '../drivers/contract/sent-error.ts'
import type { Answer } from './question-threads.ts'

/** Answers the questions of `QuestionThreads` in a worker thread, as its entry point. Those that come before wait in the port. */
export function serveQuestions(answer: (question: never) => Promise<object>): void {
  const port = parentPort
  if (port === null) throw new Error('this is the entry point of a worker thread')
  port.on('message', (question: unknown) => {
    void answer(question as never)
      .then(
        (answered): Answer<object> => answered,
        (error: unknown): Answer<object> => ({ error: sendableError(error) }),
      )
      .then((message) => port.postMessage(message, []))
  })
}
