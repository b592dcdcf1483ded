import { setTimeout as delay } from 'node:timers/promises'
import { isErrno } from '../../services/drivers/local/errors.ts'

const pollMs = 10
/** Ends what hangs: far longer than anything here takes, even on half a core. */
const usualPatienceMs = 60_000

/**
 * Waits until a condition holds, and gives its value. A look that was begun in time and took longer is not the last one: it
 * says what was when it began.
 * @throws when it does not come to hold
 */
export async function until<T>(
  what: string,
  condition: () => T | Promise<T>,
  patienceMs = usualPatienceMs,
): Promise<Exclude<T, undefined | null | false>> {
  const deadline = Date.now() + patienceMs
  for (;;) {
    const begunMs = Date.now()
    const value = await condition()
    if (holds(value)) return value
    if (begunMs > deadline) throw new Error(`in vain: ${what}; the last look took ${Date.now() - begunMs} ms`)
    await delay(pollMs)
  }
}

const holds = <T>(value: T): value is Exclude<T, undefined | null | false> =>
  value !== undefined && value !== null && value !== false

/** What is found, or nothing where something went away while somebody looked: whoever waits looks again. */
export function unlessGone<T>(look: () => T): T | undefined {
  try {
    return look()
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error
    return undefined
  }
}
