import { type Static, Type } from 'typebox'
import { resource } from '../kit/contract.ts'
import { from, Part } from '../kit/download.ts'
import { Prefix } from '../extensions/model.ts'
import { form } from '../kit/forms.ts'
import { KeyId } from '../access/keys.ts'
import { Count, list, maxPageLength, model, strict, Subject, Timestamp } from '../kit/schemas.ts'
import { exportFormat, exportFormats } from '../kit/table.ts'

/** Records are kept for a year and a month: what is billed by the year can be looked at after its end. */
export const keptUsageDays = 396

/** Records that are summed up in one request: some seconds of reading. */
export const maxSummed = 200_000

const Dimension = Type.String({
  maxLength: 100,
  ...form('^[A-Za-z][\\w.:/-]*$', 'a name such as forecasts or storage.bytes'),
  description: 'Counted item with its unit, such as forecasts or storage.bytes',
})
const Quantity = Type.Number({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description: 'Quantity used' })
const Owner = Subject('User, team or customer that used it')

export const UsageRecord = model('UsageRecord', {
  id: Count('Record id: increases; pass the last id of a page as `after` for the next page'),
  time: Timestamp('Time of recording'),
  prefix: Prefix,
  dimension: Dimension,
  quantity: Quantity,
  owner: Owner,
  key: KeyId,
})
export type UsageRecord = Static<typeof UsageRecord>

const filter = {
  prefix: Type.Optional(Prefix),
  dimension: Type.Optional(Dimension),
  owner: Type.Optional(Owner),
  since: Type.Optional(Timestamp('Start of the period')),
  until: Type.Optional(Timestamp('End of the period (exclusive)')),
}
const seen = `Returns records for you and records of your own extensions; administrators get all records. Records are kept for ${keptUsageDays} days.`

/** What extensions have done for whom: recorded by them, to be billed or shared out by. */
export const usage = resource('usage', {
  record: {
    summary: 'Record usage of an extension',
    description:
      'The key must belong to the owner of the prefix and be allowed to subscribe to all its subjects. Replies after the record is stored. A repeated `id` within an hour does not create another record.',
    input: strict({
      prefix: Prefix,
      id: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 100,
          ...form('^[\\x21-\\x7e]+$', 'printable ASCII characters without spaces'),
          description: 'Deduplication id, for safe retries (generated if omitted)',
        }),
      ),
      dimension: Dimension,
      quantity: Quantity,
      owner: Type.Optional(
        Subject('User, team or customer that used it; default: the owner of the extension'),
      ),
    }),
    output: strict({ id: UsageRecord.properties.id }),
    errors: ['NOT_FOUND', 'LIMIT_REACHED'],
    http: [],
    brokerOnly: true,
  },
  list: {
    summary: 'List usage records',
    description: seen,
    input: strict({
      ...filter,
      after: Type.Optional(Count('Return only records with a higher id: `next` of the previous page')),
      limit: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: maxPageLength,
          description: `Maximum number of records; default ${maxPageLength}`,
        }),
      ),
    }),
    output: strict({
      records: list(UsageRecord),
      next: Type.Optional(Count('Value of `after` for the next page; absent on the last page')),
    }),
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/usage' }],
    cli: { example: 'gantry usage list --prefix weather --since 2026-01-01T00:00:00Z' },
    deadlineMs: 30_000,
  },
  totals: {
    summary: 'Show total usage by extension, dimension and owner',
    description: seen,
    input: strict(filter),
    output: list(
      model('UsageTotal', {
        prefix: Prefix,
        dimension: Dimension,
        owner: Owner,
        quantity: Type.Number({ description: 'Total quantity' }),
        records: Count('Number of records in the total'),
      }),
    ),
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/usage/totals' }],
    cli: { example: 'gantry usage totals --since 2026-01-01T00:00:00Z --until 2026-02-01T00:00:00Z' },
    deadlineMs: 30_000,
  },
  export: {
    summary: 'Export all usage records as a table or as JSON lines',
    description: seen,
    input: strict({ ...filter, format: exportFormat, from }),
    output: Part,
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/usage/export' }],
    cli: { example: 'gantry usage export --prefix weather --format csv' },
    download: { types: Object.values(exportFormats) },
    deadlineMs: 30_000,
  },
})
