import { compare, truncates } from 'bcryptjs'
import { parentPort } from 'node:worker_threads'
import type { Comparison, Outcome } from './bcrypt.ts'

/** Entry point of a worker thread that compares passwords with a hash, one after the other. */

const port = parentPort
if (port === null) throw new Error('this file is the entry point of a worker thread')

port.on('message', ({ id, password, hash }: Comparison) => {
  void compare(password, hash)
    // bcrypt looks at the first 72 bytes alone, and would take whatever follows them.
    .then((isEqual): Outcome => ({ id, isEqual: isEqual && !truncates(password) }))
    .catch((): Outcome => ({ id, isEqual: undefined }))
    .then((outcome) => port.postMessage(outcome, []))
})
