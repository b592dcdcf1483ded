import { expect, test } from 'vitest'

/**
 * A test that needs what this machine may not have; where that is missing the test's name says so, and it shows only
 * that.
 * @param why what is missing, for the name; undefined where nothing is
 */
export const testUnless = (
  why: string | undefined,
  name: string,
  work: () => void | Promise<void>,
  timeoutMs?: number,
): void =>
  why === undefined
    ? test(name, work, timeoutMs)
    : test(`${name} (not shown here: ${why})`, () => expect(why).not.toBe(''))
