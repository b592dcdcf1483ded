import { serveQuestions } from '../../questions/serve-questions.ts'
import { answer, type CatalogQuestion } from './questions.ts'
import { openingOfThread } from './thread-opening.ts'

/** Entry point of a worker thread that asks catalogs, one question after the other. */

const opening = openingOfThread()
serveQuestions((question: CatalogQuestion) => answer(question, opening))
