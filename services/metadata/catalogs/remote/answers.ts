import { strict } from '../../../../subjects/kit/schemas.ts'
import { matches, problemsOf } from '../../../../subjects/kit/validate.ts'
import {
  agentFailure,
  catalogOperations,
  type CatalogOperation,
  type CatalogReply,
} from '../../../../subjects/metadata/catalog-work.ts'
import { receivedError } from '../../../drivers/contract/sent-error.ts'
import { StoreError } from '../../../drivers/contract/store-error.ts'
import { parseJson } from '../../../drivers/http/json.ts'

const failed = strict({ error: agentFailure })

/**
 * What an agent answered, checked, as it may be anything: to be read in a thread, which has a limit of memory and can be ended.
 * Throws what failed at the agent, and StoreError for what is no answer.
 */
export function replyOf<O extends CatalogOperation>(
  agent: string,
  operation: O,
  text: string,
): CatalogReply<O> {
  const answer = parsed(text)
  if (matches(failed, answer)) throw receivedError({ stack: undefined, ...answer.error })
  const schema = catalogOperations[operation]
  if (matches(schema, answer)) return (answer as { value?: never }).value as never
  const [problem] = problemsOf(schema, answer)
  throw new StoreError(
    'io',
    `agent ${agent} answers ${operation} with something else (${problem?.field ?? ''} ${problem?.problem ?? ''}); update the agent or the platform, so that both have the same release`,
  )
}

function parsed(text: string): unknown {
  try {
    return parseJson(Buffer.from(text))
  } catch {
    return undefined
  }
}
