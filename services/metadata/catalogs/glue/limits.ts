import type { Table } from '../../../../subjects/metadata/objects.ts'
import { isTransactional } from '../transactional.ts'

/** What Glue takes at most, in bytes, from its API reference. */
export const maxDescriptionBytes = 2_048
const maxBytes = {
  name: 255,
  comment: 255,
  type: 131_072,
  location: 2_056,
  format: 128,
  viewText: 409_600,
  parameterName: 255,
  parameterValue: 512_000,
} as const

/** What names, types and comments may not have in Glue: control characters other than tabs. */
// oxlint-disable-next-line no-control-regex
const control = /[\u0000-\u0008\u000a-\u001f]/

const types = ['MANAGED_TABLE', 'EXTERNAL_TABLE', 'VIRTUAL_VIEW']

/** Why Glue can never hold a table; undefined where it can. */
export function refusalOf(table: Table): string | undefined {
  if (table.type === 'MATERIALIZED_VIEW') return 'Glue does not support materialized views of Hive'
  if (!types.includes(table.type)) return `Glue does not support tables of type ${table.type}`
  if (isTransactional(table))
    return 'Glue does not support ACID tables, because it has no transactions: convert it to a table without transactions first'
  const { location = '', inputFormat = '', outputFormat = '', serde } = table.storage
  return (
    tooLong('its name', table.name, maxBytes.name) ??
    refusalOfColumns(table) ??
    tooLong('its location', location, maxBytes.location) ??
    tooLong('its input format', inputFormat, maxBytes.format) ??
    tooLong('its output format', outputFormat, maxBytes.format) ??
    tooLong('the name of its owner', table.owner?.name ?? '', maxBytes.name) ??
    tooLong('its text', table.view?.originalText ?? '', maxBytes.viewText) ??
    tooLong('its text in full', table.view?.expandedText ?? '', maxBytes.viewText) ??
    [table.parameters, table.storage.parameters, serde?.parameters ?? {}]
      .flatMap((parameters) => Object.entries(parameters))
      .map(
        ([name, value]) =>
          badText(`the name of the parameter ${name}`, name, maxBytes.parameterName) ??
          tooLong(`the parameter ${name}`, value, maxBytes.parameterValue),
      )
      .find((refusal) => refusal !== undefined)
  )
}

function refusalOfColumns({ columns, partitionKeys }: Table): string | undefined {
  for (const { name, type, comment = '' } of [...columns, ...partitionKeys]) {
    const refusal =
      badText(`the name of the column ${name}`, name, maxBytes.name) ??
      tooLong(`the type of the column ${name}`, type, maxBytes.type) ??
      badText(`the comment on the column ${name}`, comment, maxBytes.comment)
    if (refusal !== undefined) return refusal
  }
  return undefined
}

const tooLong = (what: string, text: string, limit: number): string | undefined =>
  Buffer.byteLength(text) > limit ? `${what} has more than ${limit} bytes, the limit of Glue` : undefined

const badText = (what: string, text: string, limit: number): string | undefined =>
  control.test(text)
    ? `${what} has line breaks or control characters, which Glue does not accept`
    : tooLong(what, text, limit)
