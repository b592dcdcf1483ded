import { csvLine } from '../../../subjects/kit/csv.ts'
import type { Collected } from './findings.ts'

/** What entries are called in reports. */
export const typeNames = { file: 'FILE', folder: 'DIRECTORY', symlink: 'LINK', other: 'OTHER' } as const

/** Reports of one table: a row for each path, as JSON and as CSV. */
export const reportRows = <F extends string>(fields: readonly F[]) => ({
  /** First line of the reports in CSV. */
  head: csvLine(fields),
  /** Adds a row to these reports. */
  add: (
    row: Readonly<Partial<Record<F, string | number | null>>>,
    { json, csv }: { readonly json: readonly Report[]; readonly csv?: Report | undefined },
    found: Pick<Collected, 'line'>,
  ): void => {
    const line = `${JSON.stringify(row)}\n`
    for (const { file } of json) found.line(file, line)
    if (csv !== undefined) found.line(csv.file, csvLine(fields.map((field) => row[field])))
  },
})

interface Report {
  readonly file: string
}
