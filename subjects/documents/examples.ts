import type { TSchema } from 'typebox'
import type { Contract, EventContract, HttpRoute } from '../kit/contract.ts'
import { fieldsOf, type JsonSchema, jsonSchema } from '../kit/json-schema.ts'
import { pathFields } from '../kit/route.ts'
import { matches } from '../kit/validate.ts'
import { parseCommand } from './command-example.ts'

/** A value for each field, by its name. */
export type ExampleFields = Readonly<Record<string, unknown>>

const uuid = '0b6cfc1a-9d3f-4a51-8d24-5c8e1f3f9f10'
const keyId = 'k0123456789abc'
const token = 'gantry.e30.k0123456789abc.c2VjcmV0'

/**
 * What a field of this name has in examples, where the command's own example does not say: the objects that those are about.
 * `resource.field` goes before `field`, and on a route that binds a kind of object, `resource.kind.field` before both.
 */
const values: ExampleFields = {
  accessKey: 'AKIAEXAMPLE',
  agentType: 'HIVE',
  'alerts.id': 'storage-full',
  'alerts.name': 'storage-full',
  'bandwidth.agent.name': 'host-7',
  'bandwidth.name': 'nightly',
  'bandwidth.target.name': 'there',
  callback: 'code=2f9c1b&state=8d24',
  catalogId: 'warehouse',
  changes: [{ path: '/reports/2026.csv' }],
  city: 'Oslo',
  cleanupId: uuid,
  client: 'cli',
  comparisonId: uuid,
  database: 'sales',
  databasePattern: 'sales',
  databases: 2,
  dbNamePattern: 'sales',
  dimension: 'forecasts',
  fileSystemId: 'my-target',
  flow: 'opaque',
  fsId: 'my-target',
  fsType: 'local',
  group: 'analysts',
  id: 'no-temporary-files',
  instance: 'host-7',
  internalId: uuid,
  jsonKey: '{"type":"service_account"}',
  key: 'last',
  'keys.id': keyId,
  maxPendingRegions: 1000,
  measurements: [{ name: 'forecasts.total', kind: 'counter', value: 3 }],
  message: 'What happened',
  migrationId: 'nightly',
  migrationName: 'lake',
  migrationNames: ['lake'],
  nSecs: 60,
  name: 'example',
  notificationId: uuid,
  objectId: 'nightly',
  partition: 'year=2026',
  password: 'top-secret',
  path: '/data',
  pathMappingId: uuid,
  prefix: 'weather',
  quantity: 3,
  redirectUri: 'http://127.0.0.1:8085/callback',
  regex: '*.tmp',
  reportId: 'FULL',
  reportName: 'FULL',
  role: 'target',
  'roles.name': 'readers',
  ruleName: 'sales',
  ruleNames: ['sales'],
  source: 'here',
  sourceAgentName: 'here',
  subject: 'ada',
  table: 'orders',
  tableNamePattern: '*',
  tablePattern: '*',
  target: 'there',
  targetAgentName: 'there',
  time: '2026-01-31T08:30:00.000Z',
  token,
  uri: 'ui://weather/start',
  userName: 'ada',
  version: '1.0.0',
  verificationId: uuid,
}

/** Schemas of extensions may refer to themselves. */
const maxDepth = 6

/** What JSON Schema may say beside `JsonSchema`. */
interface Bounds {
  readonly examples?: readonly unknown[]
  readonly format?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly minItems?: number
}

/** A value that a field could have; what it has to look like exactly, only `examples` and `values` know. */
function valueOf(field: JsonSchema, names: readonly string[], depth = 0): unknown {
  const schema: JsonSchema & Bounds = field
  const own = names.find((name) => Object.hasOwn(values, name) && fits(schema, values[name]))
  if (schema.examples?.[0] !== undefined) return schema.examples[0]
  if (own !== undefined) return values[own]
  if (schema.default !== undefined) return schema.default
  if (schema.const !== undefined) return schema.const
  if (schema.enum !== undefined) return schema.enum[0]
  const [alternative] = schema.anyOf ?? schema.oneOf ?? []
  if (alternative !== undefined) return valueOf(alternative, names, depth + 1)
  const [type] = [schema.type].flat()
  if (type === 'object') {
    if (depth >= maxDepth) return {}
    const required = schema.required ?? []
    const inner = Object.entries(schema.properties ?? {}).filter(([name]) => required.includes(name))
    return Object.fromEntries(inner.map(([name, one]) => [name, valueOf(one, [name], depth + 1)]))
  }
  if (type === 'array') {
    const { items = {}, minItems = 0 } = schema
    return minItems === 0 ? [] : [valueOf(items, [], depth + 1)]
  }
  if (type === 'boolean') return true
  if (type === 'integer' || type === 'number') return Math.max(1, schema.minimum ?? 1)
  if (type === 'null') return null
  return textOf(schema)
}

function textOf({ format, minLength = 0, maxLength = 100 }: Bounds): string {
  if (format === 'date-time') return '2026-01-31T08:30:00.000Z'
  if (format === 'uri') return 'https://gantry.example'
  return 'example'.padEnd(minLength, '-').slice(0, maxLength)
}

const fits = (schema: JsonSchema, value: unknown): boolean => matches(schema as TSchema, value)

/**
 * An example of the fields of a request: those that are known and fit, and all that are required.
 * @param names of a field, the most exact first
 */
export function exampleFields(
  fields: Readonly<Record<string, JsonSchema>>,
  required: readonly string[],
  known: ExampleFields,
  names: (field: string) => readonly string[] = (field) => [field],
): ExampleFields {
  const entries = Object.entries(fields).flatMap(([name, schema]): [string, unknown][] => {
    const value = known[name]
    // On a command line, the name of a file may stand for what is in it.
    if (Object.hasOwn(known, name) && !isFile(value) && fits(schema, value)) return [[name, value]]
    if (!required.includes(name) && !isFile(value)) return []
    const made = valueOf(schema, names(name))
    // What a pattern of an extension takes, nobody knows.
    return fits(schema, made) ? [[name, made]] : []
  })
  return Object.fromEntries(entries)
}

/** The example of an object with these fields; undefined where one that has to be there is not known. */
export function exampleOf(
  { properties = {}, required = [] }: JsonSchema,
  known: ExampleFields,
): ExampleFields | undefined {
  if (!required.every((name) => Object.hasOwn(known, name))) return undefined
  return Object.fromEntries(Object.entries(known).filter(([name]) => Object.hasOwn(properties, name)))
}

const isFile = (value: unknown): boolean => typeof value === 'string' && value.startsWith('@')

const inputs = new WeakMap<Contract, ExampleFields>()

/** An example of a contract's input: that of its command, with whatever else is required. */
export function exampleInput(contract: Contract): ExampleFields {
  const made = inputs.get(contract)
  if (made !== undefined) return made
  const { resource, input, cli } = contract
  const known = cli?.example === undefined ? {} : parseCommand(contract, cli.example).values
  const example = exampleFields(fieldsOf(input), jsonSchema(input).required ?? [], known, (field) => [
    `${resource}.${field}`,
    field,
  ])
  inputs.set(contract, example)
  return example
}

/** The same on a route, which needs all fields of its path. */
export function exampleOnRoute(contract: Contract, { path, bind = {} }: HttpRoute): ExampleFields {
  const { resource, input } = contract
  const example = exampleInput(contract)
  const fields = fieldsOf(input)
  const inPath = pathFields(path).map((name): [string, unknown] => {
    const ofKind = Object.values(bind).map((kind) => `${resource}.${kind}.${name}`)
    const own = ofKind.find((key) => Object.hasOwn(values, key))
    if (own !== undefined) return [name, values[own]]
    return [name, example[name] ?? valueOf(fields[name] ?? {}, [`${resource}.${name}`, name])]
  })
  return { ...example, ...Object.fromEntries(inPath) }
}

/** An example of what an event tells. */
export const examplePayload = ({ resource, payload }: EventContract): unknown =>
  valueOf(jsonSchema(payload), [resource])
