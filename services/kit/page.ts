import { notAccepted } from '../../subjects/kit/errors.ts'

/**
 * What comes after a row of a list that is not in the order of its ids; all of it without one.
 * @throws GantryError NOT_ACCEPTED where no row has that id: taken for the beginning, a reader of pages would never end
 */
export function pageAfter<T extends { readonly id: string }>(
  rows: readonly T[],
  after: string | undefined,
): readonly T[] {
  if (after === undefined) return rows
  const index = rows.findIndex(({ id }) => id === after)
  if (index < 0) throw notAccepted('after', 'is not the id of an item: start again without it')
  return rows.slice(index + 1)
}
