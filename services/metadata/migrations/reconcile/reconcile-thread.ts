import { serveQuestions } from '../../../questions/serve-questions.ts'
import { openingOfThread } from '../../catalogs/thread-opening.ts'
import { type MetadataQuestion, work } from './questions.ts'

/** Entry point of a worker thread that does pieces of metadata migrations, one after the other. */

const opening = openingOfThread()
serveQuestions((question: MetadataQuestion) => work(question, opening))
