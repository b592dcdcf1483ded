import type { Emission } from '../../broker/state/events.ts'

/** Records that have a state, as a collection keeps them. */
export interface StateRecords<R extends { readonly state: string }> {
  update(
    id: string,
    change: (current: R) => R | undefined,
    emit?: (next: R) => readonly Emission[],
  ): Promise<R>
}

/**
 * Moves a record to another state, and tells of it with the change. Rejects as `update` does, and with what `nextOf` throws.
 * @param nextOf the state after; undefined and `gone` for a change that does not happen
 * @param change what else changes with the state; `undefined`: nothing, the state neither. Pure: it may run several times
 */
export async function move<S extends string, R extends { readonly state: S }>(
  records: StateRecords<R>,
  id: string,
  nextOf: (current: R) => S | 'gone' | undefined,
  change: (current: R) => R | undefined,
  facts: (changed: R, previous: S) => readonly Emission[],
): Promise<{ readonly record: R; readonly happened: boolean }> {
  let previous: S | undefined
  const record = await records.update(
    id,
    (current) => {
      previous = undefined
      const to = nextOf(current)
      const changed = to === undefined ? undefined : change(current)
      if (changed === undefined || to === undefined || to === 'gone') return undefined
      previous = current.state
      return { ...changed, state: to }
    },
    (changed) => (previous === undefined ? [] : facts(changed, previous)),
  )
  return { record, happened: previous !== undefined }
}
