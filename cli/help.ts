import { type Contract, verbOf } from '../subjects/kit/contract.ts'
import type { JsonSchema } from '../subjects/kit/json-schema.ts'
import { defaultHome, homeVariable, product, tokenVariable } from '../subjects/kit/names.ts'
import { exitCodes } from './exit-codes.ts'
import { type Field, fieldNames, orAgo, type Shape, typed } from './output/shape.ts'
import { printable } from './output/terminal.ts'
import { mayBeElsewhere, takesSiteFiles } from './output/values.ts'

/** What stands for the value in help: `<key=value>`. */
export function placeholder({ kind, flag, schema }: Field): string {
  switch (kind) {
    case 'record':
      return 'key=value'
    case 'object':
      return 'json'
    case 'number':
      return 'number'
    case 'boolean':
    case 'list':
    case 'text':
      return schema.enum === undefined ? flag.split('-').at(-1)! : flag
  }
}

/** What help says of a field, beside its choices. @param shape of its command: other fields are named by their flags */
export function explanation(field: Field, { flags }: Shape): string {
  const { schema, kind, required } = field
  const notes = [
    ...(kind === 'list' || kind === 'record' ? ['may be repeated'] : []),
    ...(field.moment === undefined ? [] : [orAgo]),
    ...(field.lines ? ['or @file with one per line, as printed by find'] : []),
    ...(takesSiteFiles(field) ? ['or @file for the properties in a core-site.xml or hdfs-site.xml'] : []),
    ...(mayBeElsewhere(field) ? ['or @file, or - for stdin'] : []),
    ...(field.secret ? ['both hide it from the process list'] : []),
  ]
  const form = kind === 'object' ? `JSON such as ${formOf(schema)}` : ''
  const description = (schema.description ?? schema.items?.description ?? '').replaceAll(
    fieldNames,
    (word) => {
      const other = flags.find(({ name }) => name === word)
      return other === undefined ? word : `--${other.flag}`
    },
  )
  // Most descriptions say it in words.
  const isSaid = schema.default === undefined || /\bdefault\b/i.test(description)
  const text = [
    description,
    form,
    ...(isSaid
      ? []
      : [`default: ${typeof schema.default === 'string' ? schema.default : JSON.stringify(schema.default)}`]),
  ]
    .filter((part) => part !== '')
    .join('; ')
  const noted = notes.length > 0 ? `${text} (${notes.join(', ')})` : text
  return printable(required ? `${noted}${noted === '' ? '' : ' '}(required)` : noted)
}

/** The form of an object's JSON: `{"allow":["…"]}`. */
const formOf = (schema: JsonSchema): string => JSON.stringify(sample(schema))

function sample({ type, properties, items, enum: members, anyOf }: JsonSchema): unknown {
  // Constants among them stand for nothing, or for no limit.
  const usual = anyOf?.find((one) => one.const === undefined)
  if (usual !== undefined) return sample(usual)
  if (properties !== undefined) {
    return Object.fromEntries(Object.entries(properties).map(([name, field]) => [name, sample(field)]))
  }
  if (members !== undefined) return members[0]
  if (type === 'array') return [sample(items ?? {})]
  return type === 'boolean' ? true : type === 'integer' || type === 'number' ? 1 : '…'
}

/** `<id> --target <target> [options]`: what must be given, in the order in which it is typed. */
export function usageOf(shape: Shape): string {
  const more = shape.takesSeveral ? '...' : ''
  const args = shape.args.map(({ flag, required }) => (required ? `<${flag}${more}>` : `[${flag}]`))
  const flags = shape.flags
    .filter(({ required }) => required)
    .map((field) =>
      field.kind === 'boolean' ? typed(shape, field) : `${typed(shape, field)} <${placeholder(field)}>`,
    )
  return [...args, ...flags, '[options]'].join(' ')
}

/**
 * The contract's own example; without one, the least that the command takes.
 * @param words by which it is called, where those are not resource and verb
 */
export function exampleOf(contract: Contract, shape: Shape, words?: readonly string[]): string {
  const { resource, cli } = contract
  if (words === undefined && cli?.example !== undefined) return cli.example
  const args = shape.args
    .filter(({ required }) => required)
    .map(({ flag, choices }) => choices?.[0] ?? `my-${flag.split('-')[0]}`)
  const flags = shape.flags
    .filter(({ required }) => required)
    .map((field) => `${typed(shape, field)} ${quoted(field)}`)
  return [product, ...(words ?? [resource, verbOf(contract)]), ...args, ...flags].join(' ')
}

const quoted = ({ kind, schema, choices, flag }: Field): string =>
  kind === 'object' ? `'${formOf(schema)}'` : (choices?.[0] ?? `my-${flag}`)

/** The end of a help page: examples, as typed. */
export const examplesText = (examples: readonly string[]): string =>
  `\n${examples.length === 1 ? 'Example' : 'Examples'}:\n${examples.map((one) => `  $ ${one}\n`).join('')}`

/** The end of `gantry --help`: where the token comes from, and what a script can decide on. */
export const closingText = (): string =>
  [
    '',
    'Token:',
    `  from --token-file, ${tokenVariable}, login, or the file credentials in the configuration folder`,
    `  (${homeVariable}, else ${defaultHome} in this folder, else ${defaultHome} beside the program), which`,
    '  the first start creates.',
    '',
    'Exit codes:',
    ...Object.values(exitCodes).map(({ status, meaning }) => `  ${String(status).padEnd(4)} ${meaning}`),
    '',
  ].join('\n')
