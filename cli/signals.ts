/** npm passes Ctrl-C on to its child, which the terminal has told already: within this time it is the same keypress. */
const sameKeypressMs = 500

/** Waits for the end of this process to be asked for. */
export interface StopSignals {
  /** Resolves at the first SIGINT or SIGTERM. */
  readonly first: Promise<NodeJS.Signals>
  dispose(): void
}

/** Listens to SIGINT and SIGTERM: the first one resolves `first`, each later keypress calls `again`. */
export function stopSignals(again: () => void): StopSignals {
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
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
  return {
    first,
    dispose: () => {
      process.off('SIGINT', onSignal)
      process.off('SIGTERM', onSignal)
    },
  }
}
