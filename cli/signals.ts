/** npm passes Ctrl-C on to its child, which the terminal has told already: within this time it is the same keypress. */
const sameKeypressMs = 500

const stopping = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** Waits for the end of this process to be asked for. */
export interface StopSignals {
  /** Resolves at the first of them. */
  readonly first: Promise<NodeJS.Signals>
  dispose(): void
}

/** Listens to Ctrl-C, SIGTERM and the end of the terminal: the first one resolves `first`, each later keypress calls `again`. */
export function stopSignals(again: () => void, source: NodeJS.EventEmitter = process): StopSignals {
  const { promise: first, resolve } = Promise.withResolvers<NodeJS.Signals>()
  let firstAt: number | undefined
  const onSignal = (signal: NodeJS.Signals): void => {
    const now = performance.now()
    if (firstAt === undefined) {
      firstAt = now
      resolve(signal)
    } else if (now - firstAt > sameKeypressMs) {
      again()
    }
  }
  for (const signal of stopping) source.on(signal, onSignal)
  return {
    first,
    dispose: () => {
      for (const signal of stopping) source.off(signal, onSignal)
    },
  }
}
