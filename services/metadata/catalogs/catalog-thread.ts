import { workerData } from 'node:worker_threads'
import type { StoreBounds } from '../../drivers/contract/bounds.ts'
import { serveQuestions } from '../../questions/serve-questions.ts'
import { answer, type CatalogQuestion } from './questions.ts'

/** Entry point of a worker thread that asks catalogs, one question after the other. */

const { bounds } = workerData as { readonly bounds: StoreBounds | undefined }
serveQuestions((question: CatalogQuestion) => answer(question, bounds))
