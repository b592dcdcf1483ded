import { workerData } from 'node:worker_threads'
import type { StoreBounds } from '../drivers/contract/bounds.ts'
import { addKinds } from '../drivers/index.ts'
import { serveQuestions } from '../questions/serve-questions.ts'
import { answer, type Question } from './questions.ts'

/** Entry point of a worker thread that asks stores, one question after the other. */

const { bounds, kinds } = workerData as {
  readonly bounds: StoreBounds | undefined
  readonly kinds: readonly string[]
}
await addKinds(kinds)
serveQuestions((question: Question) => answer(question, bounds))
