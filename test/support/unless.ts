import { test } from 'vitest'

/**
 * A test that needs what this machine may not have; where that is missing the runner counts it as skipped, and says why.
 * @param why what is missing; undefined where nothing is
 */
export const testUnless = (
  why: string | undefined,
  name: string,
  work: () => void | Promise<void>,
  timeoutMs?: number,
): void => (why === undefined ? test(name, work, timeoutMs) : test(name, ({ skip }) => skip(why)))

/** The same beside others of its file: for what waits most of the time. */
export const concurrentUnless: typeof testUnless = (why, name, work, timeoutMs) =>
  why === undefined ? test.concurrent(name, work, timeoutMs) : testUnless(why, name, work, timeoutMs)
