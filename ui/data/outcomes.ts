import { useSyncExternalStore } from 'react'

/** What somebody is told of at the end of the window: what was done, or why it was not. */
export interface Outcome {
  readonly id: number
  readonly title: string
  readonly error?: unknown
}

/** More than these nobody reads: the oldest leave. */
const most = 5

let outcomes: readonly Outcome[] = []
let last = 0
const listeners = new Set<() => void>()

function change(next: readonly Outcome[]): void {
  outcomes = next
  for (const listener of listeners) listener()
}

export const reportOutcome = (title: string, error?: unknown): void =>
  change([...outcomes, { id: ++last, title, ...(error !== undefined && { error }) }].slice(-most))

/** Something went well: what went wrong before is over, or was seen. */
export function clearFailures(): void {
  if (outcomes.some(({ error }) => error !== undefined))
    change(outcomes.filter(({ error }) => error === undefined))
}

export const closeOutcome = (id: number): void => change(outcomes.filter((one) => one.id !== id))

export const useOutcomes = (): readonly Outcome[] =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => outcomes,
  )
