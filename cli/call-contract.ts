import type { Contract } from '../subjects/contract.ts'
import type { RunContract } from './contract-command.ts'
import { type Context, type Globals, withSession } from './context.ts'
import { withFlags } from './failure.ts'
import { present } from './present.ts'
import type { Session } from './session.ts'
import { inputOf } from './values.ts'

/** Asks, on the caller's connection. */
type Ask = (session: Session, contract: Contract, input: Record<string, unknown>) => Promise<unknown>

const askService: Ask = (session, contract, input) => session.call(contract, input)

/** Reads the input, calls the capability with the caller's token, and shows the reply. */
export const callContract =
  (context: Context, ask: Ask = askService): RunContract =>
  async (contract, shape, given, command) => {
    const globals = command.optsWithGlobals<Globals>()
    const input = await inputOf(contract, shape, given, context)
    try {
      const reply = await withSession(context, globals, (session) => ask(session, contract, input))
      present(context.terminal, contract, reply, { json: globals.json === true, input })
    } catch (error) {
      throw withFlags(error, shape)
    }
  }
