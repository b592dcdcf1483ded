import type { Contract } from '../../subjects/kit/contract.ts'
import { partField } from '../../subjects/kit/download.ts'
import { filesystemKinds } from '../../subjects/filesystems/kinds.ts'
import { catalogKinds } from '../../subjects/metadata/kinds.ts'
import { epochKeyword, fieldsOf, type JsonSchema, jsonSchema } from '../../subjects/kit/json-schema.ts'
import { printable } from './terminal.ts'

/** How a field's value is written: `list` and `record` may be given several times, `object` is JSON. */
export type FieldKind = 'boolean' | 'number' | 'text' | 'list' | 'record' | 'object'

/** A field of a contract's input as it appears on the command line. */
export interface Field {
  /** Name in the API. */
  readonly name: string
  /** The same in kebab case, without dashes before it. */
  readonly flag: string
  /** Another flag that is taken for it, which help does not show. */
  readonly otherFlag?: string
  readonly kind: FieldKind
  readonly schema: JsonSchema
  readonly required: boolean
  /** May be taken from a file or standard input, so that it is not in the process list. */
  readonly secret: boolean
  /** A list of paths that may be the lines of a file. */
  readonly lines: boolean
  /** A moment, which may also be typed as a time ago. */
  readonly moment: 'text' | 'epoch' | undefined
  /** All values that it can have, when they are few. */
  readonly choices: readonly string[] | undefined
}

/** How a moment may be typed too. */
export const orAgo = 'or how long ago, such as 30m, 1h or 2d'

/** A contract's input on the command line. */
export interface Shape {
  readonly args: readonly Field[]
  readonly flags: readonly Field[]
  /** Whether its one argument may be given several times, for one call after another. */
  readonly takesSeveral: boolean
}

/** How a command is given the contract's input: fields named in `cli.args` by position, all others as flags. */
export function shapeOf(contract: Contract): Shape {
  const required = [...(jsonSchema(contract.input).required ?? []), ...(contract.cli?.needed ?? [])]
  const secrets = secretsOf(contract)
  const fields = new Map(
    inputFields(contract).map(([name, schema]): [string, Field] => [
      name,
      {
        name,
        flag: kebab(name),
        kind: kindOf(schema),
        schema,
        required: required.includes(name),
        secret: secrets.includes(name),
        moment: schema.format === 'date-time' ? 'text' : schema[epochKeyword] === true ? 'epoch' : undefined,
        lines: contract.cli?.files?.includes(name) ?? false,
        choices: choicesOf(kindOf(schema) === 'list' ? (schema.items ?? {}) : schema),
      },
    ]),
  )
  const byPosition = contract.cli?.args ?? []
  const args = byPosition.flatMap((name) => fields.get(name) ?? [])
  return {
    args,
    takesSeveral: contract.verb === 'delete' && args.length === 1,
    flags: [...fields.values()].filter(({ name }) => !byPosition.includes(name)),
  }
}

/** Those that a person gives. */
const inputFields = ({ input, download }: Contract): [string, JsonSchema][] =>
  Object.entries(fieldsOf(input)).filter(([name]) => download === undefined || name !== partField)

/** `listenAndApplySourceChanges` → `listen-and-apply-source-changes` */
export const kebab = (name: string): string =>
  name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1-$2')
    .replaceAll('_', '-')
    .toLowerCase()

/** Names of fields in a text, as far as they cannot be words of English. */
export const fieldNames = /\b[a-z]+(?:[A-Z][a-z]*)+\b/g

/** A field as a person types it: `--fs-root`, or `<path>` for one by position. */
export const typed = ({ args }: Shape, field: Field): string =>
  args.includes(field) ? `<${field.flag}>` : `--${field.flag}`

function kindOf(schema: JsonSchema): FieldKind {
  switch (schema.type) {
    case 'boolean':
      return 'boolean'
    case 'integer':
    case 'number':
      return 'number'
    case 'array':
      // Of items with several forms each is an object: nobody writes those one by one.
      return schema.items?.anyOf === undefined ? 'list' : 'object'
    case 'object':
      return schema.properties === undefined ? 'record' : 'object'
    default:
      return 'text'
  }
}

function choicesOf({ enum: members }: JsonSchema): readonly string[] | undefined {
  const texts = members?.filter((member) => typeof member === 'string')
  // One that help could not show as it is would be no word to type.
  return texts?.length === members?.length && texts?.every((text) => printable(text) === text)
    ? texts
    : undefined
}

/** Resources with kinds, of which each has secrets of its own. */
const kindsOf: Readonly<Record<string, Readonly<Record<string, { readonly secrets: readonly string[] }>>>> = {
  filesystems: filesystemKinds,
  'metadata-catalogs': catalogKinds,
}

/** Fields of the input whose values nobody else may see. */
function secretsOf({ resource, verb, cli }: Contract): readonly string[] {
  if (cli?.secrets !== undefined) return cli.secrets
  const kinds = kindsOf[resource] ?? {}
  return Object.entries(kinds).flatMap(([kind, { secrets }]) =>
    [`create-${kind}`, `update-${kind}`, `check-${kind}`].includes(verb) ? secrets : [],
  )
}
