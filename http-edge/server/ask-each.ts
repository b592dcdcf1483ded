import { isError, replyError } from '../../broker/rpc/client.ts'
import { type GantryError, isGantryError } from '../../subjects/kit/errors.ts'
import type { CallOutcome } from './definition.ts'

/**
 * Makes several calls, one after the other. When one cannot be asked, nor can those after it.
 * @returns what came of each
 */
export async function askEach(
  inputs: readonly object[],
  ask: (input: object) => Promise<Parameters<typeof isError>[0]>,
): Promise<CallOutcome[]> {
  const outcomes: CallOutcome[] = []
  let fault: GantryError | undefined
  for (const input of inputs) {
    try {
      if (fault !== undefined) throw fault
      const message = await ask(input)
      outcomes.push(
        isError(message) ? { input, error: replyError(message) } : { input, reply: message.json() },
      )
    } catch (error) {
      if (!isGantryError(error)) throw error
      fault = error
      outcomes.push({ input, error })
    }
  }
  return outcomes
}
