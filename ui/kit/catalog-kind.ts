import { catalogKinds } from '../../subjects/metadata/kinds.ts'
import { shownText } from './format.ts'

const summaries: ReadonlyMap<string, string> = new Map(
  Object.entries(catalogKinds).map(([kind, { summary }]) => [kind, summary]),
)

/** What a kind of catalog is, in place of its name: `Hive metastore`. */
export function catalogKindText(kind: string): string {
  const text = shownText((summaries.get(kind) ?? kind).replace(/^an? /, ''))
  return text.charAt(0).toUpperCase() + text.slice(1)
}
