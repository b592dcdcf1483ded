import type { Command } from 'commander'
import { isGantryError } from '../../subjects/kit/errors.ts'
import { endpointContract } from '../../subjects/extensions/contract.ts'
import { extensions } from '../../subjects/extensions/extensions.ts'
import { matches } from '../../subjects/kit/validate.ts'
import { callContract } from './call-contract.ts'
import { type Context, type Globals, withSession } from '../context.ts'
import { addContracts } from '../program.ts'

/**
 * Adds `gantry <prefix> <endpoint>` for an extension that the platform knows by this word. Resolves to why it could not
 * be asked, if so.
 */
export async function addExtension(
  program: Command,
  word: string,
  { context, globals }: { readonly context: Context; readonly globals: Globals },
): Promise<string | undefined> {
  const input = { prefix: word }
  if (!matches(extensions.features.input, input)) return undefined
  try {
    const [found] = await withSession(context, globals, (session) => session.call(extensions.features, input))
    const endpoints = found?.endpoints ?? []
    addContracts(
      program,
      endpoints.map((endpoint) => endpointContract(word, endpoint)),
      callContract(context, (session, contract, input) => session.callEndpoint(contract, input)),
    )
    return undefined
  } catch (error) {
    if (!isGantryError(error)) throw error
    return `commands of extensions are not available: ${error.message}`
  }
}
