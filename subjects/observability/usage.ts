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
  description: 'What is counted, with its unit, such as forecasts or storage.bytes',
})
const Quantity = Type.Number({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description: 'How much' })
const Owner = Subject('Who has used it: a person, a team, a customer')

export const UsageRecord = model('UsageRecord', {
  id: Count('Grows; the id of the last one of a page is `after` of the next'),
  time: Timestamp('When it was recorded'),
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
  since: Type.Optional(Timestamp('Only what was recorded at this moment or later')),
  until: Type.Optional(Timestamp('Only what was recorded before this moment')),
}
const seen = `You see what is recorded for you, and all that your own extensions record; administrators see everything. Records are kept for ${keptUsageDays} days.`

/** What extensions have done for whom: recorded by them, to be billed or shared out by. */
export const usage = resource('usage', {
  record: {
    summary: 'Record what an extension has done for somebody',
    description:
      'The key must be allowed to subscribe to all subjects of the prefix, and be of its owner. The answer comes when it is stored. The same `id` again within an hour is the same record.',
    input: strict({
      prefix: Prefix,
      id: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 100,
          ...form('^[\\x21-\\x7e]+$', 'printable ASCII characters without blanks'),
          description: 'Names the record, so that it can be sent again; default: a new one each time',
        }),
      ),
      dimension: Dimension,
      quantity: Quantity,
      owner: Type.Optional(Subject('Who has used it; default: the owner of the extension')),
    }),
    output: strict({ id: UsageRecord.properties.id }),
    errors: ['NOT_FOUND', 'LIMIT_REACHED'],
    http: [],
    brokerOnly: true,
  },
  list: {
    summary: 'What was used, by whom and when',
    description: seen,
    input: strict({
      ...filter,
      after: Type.Optional(Count('Only those with a higher id: `next` of the page before')),
      limit: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: maxPageLength,
          description: `Longest page; default ${maxPageLength}`,
        }),
      ),
    }),
    output: strict({
      records: list(UsageRecord),
      next: Type.Optional(Count('`after` of the page that follows; not there in the last one')),
    }),
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/usage' }],
    cli: { example: 'gantry usage list --prefix weather --since 2026-01-01T00:00:00Z' },
    deadlineMs: 30_000,
  },
  totals: {
    summary: 'How much was used, summed up by extension, dimension and owner',
    description: seen,
    input: strict(filter),
    output: list(
      model('UsageTotal', {
        prefix: Prefix,
        dimension: Dimension,
        owner: Owner,
        quantity: Type.Number({ description: 'Sum' }),
        records: Count('Of how many records'),
      }),
    ),
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/usage/totals' }],
    cli: { example: 'gantry usage totals --since 2026-01-01T00:00:00Z --until 2026-02-01T00:00:00Z' },
    deadlineMs: 30_000,
  },
  export: {
    summary: 'All records of usage, as a table or as a line of JSON for each',
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
