import { parentPort } from 'node:worker_threads'

/** Double of a thread of stores whose call hangs, as one on a dead network mount does: no mount here can be made to. */
const never = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
parentPort?.on('message', () => Atomics.wait(never, 0, 0))
