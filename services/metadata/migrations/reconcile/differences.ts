import { shortened } from '../../../../subjects/kit/shortened.ts'

/** A field that is not the same. Plain data. */
export interface Difference {
  /** Names and positions with dots between them, such as `columns.2.type`. */
  readonly field: string
  /** What is wanted at the target; undefined where nothing is. */
  readonly wanted?: string
  /** What is there; undefined where nothing is. */
  readonly found?: string
}

/** So many are told of one object; whoever has more has another object. */
const maxDifferences = 20
const maxValueLength = 200

/** In which fields two values differ, as far as there is room. */
export function differencesOf(wanted: unknown, found: unknown): Difference[] {
  const differences: Difference[] = []
  collect(wanted, found, '', differences)
  return differences
}

function collect(wanted: unknown, found: unknown, field: string, into: Difference[]): void {
  if (into.length >= maxDifferences) return
  if (isTree(wanted) && isTree(found)) {
    for (const name of new Set([...Object.keys(wanted), ...Object.keys(found)]))
      collect(wanted[name], found[name], field === '' ? name : `${field}.${name}`, into)
    return
  }
  if (wanted === found) return
  into.push({
    field,
    ...(wanted !== undefined && { wanted: valueText(wanted) }),
    ...(found !== undefined && { found: valueText(found) }),
  })
}

const isTree = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null

/** What is missing at the target, and what only it has. */
export const differencesIn = (
  field: string,
  missing: readonly object[],
  surplus: readonly object[],
): Difference[] => [
  ...missing.map((one) => ({ field, wanted: valueText(one) })),
  ...surplus.map((one) => ({ field, found: valueText(one) })),
]

/** A value as it stands in a difference. */
export const valueText = (value: unknown): string =>
  shortened(typeof value === 'string' ? value : JSON.stringify(value), maxValueLength)
