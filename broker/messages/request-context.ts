import { AsyncLocalStorage } from 'node:async_hooks'
import type { TraceContext } from '../../subjects/kit/trace-context.ts'

/** The request that a service is working on. */
export interface RequestContext {
  readonly requestId: string
  /** undefined for a request that belongs to no trace. */
  readonly trace: TraceContext | undefined
}

const contexts = new AsyncLocalStorage<RequestContext>()

/** The request that the code which asks is working on: its id is in each line of the log, and goes along with each call. */
export const currentRequest = (): RequestContext | undefined => contexts.getStore()

/** Does something as work on a request. */
export const inRequest = <T, A extends unknown[]>(
  context: RequestContext,
  work: (...given: A) => T,
  ...given: A
): T => contexts.run(context, work, ...given)
