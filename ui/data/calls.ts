import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { Contract, Input, Output } from '../../subjects/kit/contract.ts'
import { allPages } from '../../subjects/kit/pages.ts'
import { hasEnded } from '../../subjects/migrations/model/jobs.ts'
import { coveringRule } from '../../subjects/kit/patterns.ts'
import type { Session } from './session.ts'
import { useSession } from './session-context.ts'

/** Where an answer is kept. A resource alone stands for all of its answers. */
export const keyOf = (contract: Contract, input: unknown) =>
  [contract.resource, contract.verb, input] as const

/** How often is asked for what no event tells of. */
export const pollMs = 10_000

/** How often is asked for the figures of what somebody watches until it ends. */
const watchedMs = 2_000

/** How often is asked for jobs, whose figures no event tells of: seldom once all have ended. */
export const jobsEveryMs = (jobs: readonly Parameters<typeof hasEnded>[0][]): number =>
  jobs.every(hasEnded) ? pollMs : watchedMs

/** What is read of a list as a whole. */
const whole = 'all'

/** The answer of a contract, asked again when `useEvents` hears that its resource has changed. */
export function useAnswer<C extends Contract>(
  contract: C,
  input: Input<C>,
  options: { everyMs?: number | undefined; isWanted?: boolean } = {},
) {
  const session = useSession()
  return useQuery({
    queryKey: keyOf(contract, input),
    queryFn: () => session.call(contract, input),
    enabled: (options.isWanted ?? true) && mayCall(session, contract),
    ...(options.everyMs !== undefined && { refetchInterval: options.everyMs }),
  })
}

type Item<C extends Contract> = Output<C> extends readonly (infer T)[] ? T : never

export const keyOfAll = (contract: Contract, filter: object = {}) => keyOf(contract, { [whole]: filter })

/**
 * All items of a list, page by page.
 * @param idOf what the next page begins after
 * @param first so many are there while the others are read, where nothing is known yet
 */
export function useAll<C extends Contract>(
  contract: C,
  idOf: (item: Item<C>) => string,
  {
    filter,
    first,
    everyMs,
    isWanted = true,
  }: {
    filter?: Input<C>
    first?: number
    /** How often is asked again; where it depends on what was answered, a function of that. */
    everyMs?: number | ((items: readonly Item<C>[]) => number | undefined)
    isWanted?: boolean
  } = {},
) {
  const session = useSession()
  const queries = useQueryClient()
  const queryKey = keyOfAll(contract, filter)
  const pageAfter = async (last: Item<C> | undefined, limit?: number) => {
    const input = {
      ...(filter as object | undefined),
      ...(limit !== undefined && { limit }),
      ...(last !== undefined && { after: idOf(last) }),
    }
    // The contract of a list says that it answers one.
    return (await session.call(contract, input as Input<C>)) as readonly Item<C>[]
  }
  return useQuery({
    queryKey,
    queryFn: async () => {
      if (first === undefined || queries.getQueryData(queryKey) !== undefined)
        return allPages((last: Item<C> | undefined) => pageAfter(last))
      const known = await pageAfter(undefined, first)
      if (known.length < first) return known
      queries.setQueryData(queryKey, known)
      return allPages((last: Item<C> | undefined) => pageAfter(last), known)
    },
    enabled: isWanted && mayCall(session, contract),
    // Comparing thousands of objects with those before takes longer than drawing the rows in sight.
    structuralSharing: false,
    refetchInterval: ({ state }) =>
      (typeof everyMs === 'function' ? everyMs(state.data ?? []) : everyMs) ?? false,
  })
}

/**
 * Has something done; what its resource answers is asked again then, and what others answer that changes with it.
 * @param isShown whether whoever calls shows what went wrong; else a message at the end of the window does
 */
export function useCommand<C extends Contract>(
  contract: C,
  { changes = [], isShown = false }: { changes?: readonly string[]; isShown?: boolean } = {},
) {
  const session = useSession()
  const queries = useQueryClient()
  return useMutation({
    mutationFn: (input: Input<C>): Promise<Output<C>> => session.call(contract, input),
    onSettled: () =>
      Promise.all(
        [contract.resource, ...changes].map((resource) =>
          queries.invalidateQueries({ queryKey: [resource] }),
        ),
      ),
    meta: { isShown },
  })
}

/** Whether somebody may call a contract, as far as its rules say. */
export const mayCall = (session: Session, { subject }: Contract): boolean => mayAsk(session, subject)

export const mayAsk = ({ person }: Session, subject: string): boolean =>
  coveringRule(person.permissions.pub.allow, subject) !== undefined
