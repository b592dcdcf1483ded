import { parentPort } from 'node:worker_threads'

/** Double of a thread of stores that ends by an error of its own once it has answered: no driver here does. */
parentPort?.on('message', () => {
  parentPort?.postMessage({ notice: undefined }, [])
  setImmediate(() => {
    throw new Error('thrown after the answer')
  })
})
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a broadcast channel has none
process.on('exit', () => new BroadcastChannel('dying').postMessage('ended'))
