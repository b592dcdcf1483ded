import { AsyncLocalStorage } from 'node:async_hooks'
import type { TraceContext } from '../../subjects/kit/trace-context.ts'

/** The request that a service is working on. */
export interface Hop {
  readonly requestId: string
  /** undefined for a request that belongs to no trace. */
  readonly trace: TraceContext | undefined
}

const hops = new AsyncLocalStorage<Hop>()

/** The request that the code which asks is working on: its id is in each line of the log, and goes along with each call. */
export const currentHop = (): Hop | undefined => hops.getStore()

/** Does something as work on a request. */
export const inHop = <T, A extends unknown[]>(hop: Hop, work: (...given: A) => T, ...given: A): T =>
  hops.run(hop, work, ...given)
