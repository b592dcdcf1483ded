import { workerData, type MessagePort } from 'node:worker_threads'
import type { StoreBounds } from '../../drivers/contract/bounds.ts'
import { relayOver } from '../../questions/relay.ts'
import type { CatalogOpening } from './index.ts'
import { type AgentQuestion, askingThrough } from './remote/asking.ts'

/** How this worker thread opens catalogs: by the bounds that it was given, and those behind agents by its process. */
export function openingOfThread(): CatalogOpening {
  const { bounds, port } = workerData as { readonly bounds?: StoreBounds; readonly port?: MessagePort }
  if (port === undefined) return { bounds }
  const relay = relayOver(port)
  const text = (asked: AgentQuestion, signal: AbortSignal) => relay(asked, signal) as Promise<string>
  return { bounds, askAgent: askingThrough(text) }
}
