import type { CatalogSpec } from '../../../../subjects/metadata/kinds.ts'
import type { CatalogOperation, CatalogReply } from '../../../../subjects/metadata/catalog-work.ts'
import type { Allowed } from '../../../drivers/contract/bounds.ts'

/** A question to an agent about a catalog. Plain data: it crosses from a thread to the platform, and from there to the agent. */
export interface RemoteQuestion {
  /** The catalog as its agent opens it, with its secrets in the clear. */
  readonly spec: CatalogSpec
  readonly operation: CatalogOperation
  readonly args: readonly unknown[]
}

/** With what the platform allows catalogs beyond what the agent itself does. */
export interface SentQuestion extends RemoteQuestion {
  readonly allowed: Pick<Allowed, 'hosts' | 'hostCredentials'>
}

/** Asks an agent by its name. Throws StoreError, GantryError for options that the agent does not accept, and the signal's reason. */
export type AskAgent = <O extends CatalogOperation>(
  agent: string,
  question: RemoteQuestion & { readonly operation: O },
  signal: AbortSignal,
) => Promise<CatalogReply<O>>

/** What a thread has its process ask an agent. */
export interface AgentQuestion {
  readonly agent: string
  readonly question: RemoteQuestion
}

/** Asks agents through `relay`, which returns the text that an agent answered; it is read here, and not where it arrived. */
export const askingThrough =
  (relay: (asked: AgentQuestion, signal: AbortSignal) => Promise<string>): AskAgent =>
  async (agent, question, signal) => {
    const text = await relay({ agent, question }, signal)
    // With the schemas, which most threads do not need.
    const { replyOf } = await import('./answers.ts')
    return replyOf(agent, question.operation, text)
  }
