import { workerData } from 'node:worker_threads'
import type { StoreBounds } from '../../../drivers/contract/bounds.ts'
import { serveQuestions } from '../../../questions/serve-questions.ts'
import { type MetadataQuestion, work } from './questions.ts'

/** Entry point of a worker thread that does pieces of metadata migrations, one after the other. */

const { bounds } = workerData as { readonly bounds: StoreBounds | undefined }
serveQuestions((question: MetadataQuestion) => work(question, bounds))
