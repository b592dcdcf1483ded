/** A change that waits for longer is worth a word: a file that was written to once is at the target by then. */
export const longMs = 10_000

/**
 * Milliseconds of a clock that only goes on, the same in all threads of a process: how long something has waited does not
 * depend on who sets the clock of the host.
 */
export function monotonicMs(): number {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds * 1_000 + nanoseconds / 1_000_000
}

/** The same moment by the clock of the host, in milliseconds since 1970. */
export const timeOf = (momentMs: number): number => Date.now() - (monotonicMs() - momentMs)

/** A moment of the clock of the host by this one. */
export const momentOf = (timeMs: number): number => monotonicMs() - (Date.now() - timeMs)
