import { useQueryClient } from '@tanstack/react-query'
import { useCallback, useEffect, useState } from 'react'
import { roots } from '../../subjects/kit/names.ts'
import { pollMs } from './calls.ts'
import { useSession } from './session-context.ts'

/** However many events come, what they tell of is asked so often at most. */
export const gatheredMs = 500

/** Subjects of the facts of a resource, without what is told to whoever listens at the moment. */
export const factsOf = (resource: string) => `${roots.events}.${resource}.*.*`

/**
 * Hears of messages, gathered: `hear` gets those of the last half second together, and none while what it does with those
 * before takes. What takes long happens no more than half of the time, however many messages come.
 * @returns whether they may be heard
 */
export function useGathered(
  subject: string,
  hear: (messages: readonly { readonly subject: string; readonly body: unknown }[]) => void | Promise<void>,
): boolean {
  const session = useSession()
  const [isHeard, setHeard] = useState(true)
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    let waiting: { subject: string; body: unknown }[] = []
    let isOver = false
    const tell = async () => {
      const messages = waiting
      waiting = []
      const began = performance.now()
      await hear(messages)
      const tookMs = performance.now() - began
      timer = undefined
      if (waiting.length > 0 && !isOver) tellIn(Math.max(gatheredMs, tookMs))
    }
    const tellIn = (ms: number) => {
      timer ??= setTimeout(() => void tell(), ms)
    }
    const stop = session.listen(
      subject,
      (heard, body) => {
        waiting.push({ subject: heard, body })
        tellIn(gatheredMs)
      },
      () => setHeard(false),
    )
    return () => {
      isOver = true
      stop()
      clearTimeout(timer)
    }
  }, [session, subject, hear])
  return isHeard
}

/** Asks again for what a resource answers from time to time, where its facts may not be heard. */
export function useAskingAgain(resource: string, isHeard: boolean): void {
  const queries = useQueryClient()
  useEffect(() => {
    if (isHeard) return
    const timer = setInterval(() => void queries.invalidateQueries({ queryKey: [resource] }), pollMs)
    return () => clearInterval(timer)
  }, [isHeard, queries, resource])
}

/** Asks again for what a resource answers whenever its facts say so. @returns whether they may be heard */
export function useEvents(resource: string): boolean {
  const queries = useQueryClient()
  const askAgain = useCallback(() => queries.invalidateQueries({ queryKey: [resource] }), [queries, resource])
  const isHeard = useGathered(factsOf(resource), askAgain)
  useAskingAgain(resource, isHeard)
  return isHeard
}
