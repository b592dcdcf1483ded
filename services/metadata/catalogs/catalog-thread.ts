import { workerData } from 'node:worker_threads'
import type { StoreBounds } from '../../drivers/contract/bounds.ts'
import { serveQuestions } from '../../questions/serve-questions.ts'
import { answer, type CatalogAnswer, type CatalogQuestion } from './questions.ts'

/** Entry point of a worker thread that asks catalogs, one question after the other. */

const { bounds } = workerData as { readonly bounds: StoreBounds | undefined }
serveQuestions<CatalogQuestion, CatalogAnswer>((question) => answer(question, bounds))
