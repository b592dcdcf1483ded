import { parentPort } from 'node:worker_threads'
import { sendableError } from '../drivers/contract/sent-error.ts'
import type { Answer } from './question-threads.ts'

/** Answers the questions of `QuestionThreads` in a worker thread, as its entry point. Those that come before wait in the port. */
export function serveQuestions<Question, Answered extends object>(
  answer: (question: Question) => Promise<Answered>,
): void {
  const port = parentPort
  if (port === null) throw new Error('this is the entry point of a worker thread')
  port.on('message', (question: Question) => {
    void answer(question)
      .then(
        (answered): Answer<Answered> => answered,
        (error: unknown): Answer<Answered> => ({ error: sendableError(error) }),
      )
      .then((message) => port.postMessage(message, []))
  })
}
