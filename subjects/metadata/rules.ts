import { Type } from 'typebox'
import { resource } from '../kit/contract.ts'
import { form } from '../kit/forms.ts'
import { list, maxTextLength, model, Nothing, page, strict } from '../kit/schemas.ts'
import { ruleName } from './names.ts'

const byName = strict({ ruleName })

const Pattern = (what: string) =>
  Type.String({
    minLength: 1,
    maxLength: maxTextLength,
    ...form(
      '^[^./\\\\\\s][^./\\\\\\n]*$',
      'a name pattern: * matches any text, | separates alternatives, such as sales*|returns',
    ),
    description: `${what}: * matches any text, | separates alternatives; not case-sensitive`,
  })

const fields = {
  databasePattern: Pattern('Pattern of database names'),
  tablePattern: Pattern('Pattern of table and view names'),
}

export const MetadataRule = model('MetadataRule', { ruleName, ...fields })
export type MetadataRule = Type.Static<typeof MetadataRule>

/** Which databases and tables a migration of metadata is about. */
export const metadataRules = resource('metadata-rules', {
  create: {
    summary: 'Create a rule that selects the databases and tables of a metadata migration',
    input: strict({ ruleName, ...fields }),
    output: MetadataRule,
    errors: ['ALREADY_EXISTS', 'LIMIT_REACHED'],
    audit: { object: 'ruleName' },
    http: [{ method: 'POST', path: '/api/v1/metadata/rules', status: 201 }],
    cli: {
      args: ['ruleName'],
      example: "gantry metadata-rules create sales --database-pattern sales --table-pattern '*'",
    },
  },
  update: {
    summary: 'Change a metadata rule',
    description:
      'Omitted fields keep their values. Running migrations that use the rule compare everything again.',
    input: strict({
      ruleName,
      databasePattern: Type.Optional(fields.databasePattern),
      tablePattern: Type.Optional(fields.tablePattern),
    }),
    output: MetadataRule,
    errors: ['NOT_FOUND'],
    audit: { object: 'ruleName' },
    http: [{ method: 'PATCH', path: '/api/v1/metadata/rules/{ruleName}' }],
    cli: {
      args: ['ruleName'],
      example: "gantry metadata-rules update sales --table-pattern 'orders*'",
    },
  },
  list: {
    summary: 'List metadata rules',
    input: strict({ ...page }),
    output: list(MetadataRule),
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/metadata/rules' }],
    cli: { columns: ['ruleName', 'databasePattern', 'tablePattern'] },
  },
  get: {
    summary: 'Show a metadata rule',
    input: byName,
    output: MetadataRule,
    errors: ['NOT_FOUND'],
    http: [{ method: 'GET', path: '/api/v1/metadata/rules/{ruleName}' }],
    cli: { args: ['ruleName'] },
  },
  delete: {
    summary: 'Delete a metadata rule that no migration uses',
    input: byName,
    output: Nothing,
    errors: ['IN_USE', 'NOT_FOUND'],
    audit: { object: 'ruleName' },
    http: [{ method: 'DELETE', path: '/api/v1/metadata/rules/{ruleName}' }],
    cli: { args: ['ruleName'] },
  },
  test: {
    summary: 'Show which metadata rules match a table',
    input: strict({
      table: Type.String({
        minLength: 3,
        maxLength: 600,
        ...form('^[^.]+\\.[^.]+$', 'a database and a table, separated by a dot, such as sales.orders'),
        description: 'Database and table, such as sales.orders',
      }),
    }),
    output: strict({ ruleNames: list(ruleName) }),
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/metadata/rule-test' }],
    cli: { args: ['table'], example: 'gantry metadata-rules test sales.orders' },
  },
})
