import { type TSchema, Type } from 'typebox'
import type { Contract, HttpRoute } from '../../../subjects/kit/contract.ts'
import { exampleInput } from '../../../subjects/documents/examples.ts'
import { fieldsOf, jsonSchema } from '../../../subjects/kit/json-schema.ts'
import { notAccepted, invalid } from '../../../subjects/kit/errors.ts'
import { list, maxPathLength, model, record } from '../../../subjects/kit/schemas.ts'
import { Catalog, metadataCatalogs } from '../../../subjects/metadata/catalogs.ts'
import { type CatalogKind, catalogKinds } from '../../../subjects/metadata/kinds.ts'
import { type Fields, type Operation, operation, type Own, type Wire } from '../../surface/operation.ts'

/** What is beside the options of a kind on the surface, and among them in the contracts. */
const placeFields = ['fileSystemId', 'defaultFsOverride'] as const

const isPlace = (name: string): boolean => placeFields.some((field) => field === name)

/** A kind as a constant, whichever way it is written. */
const typeOf = (text: string): string => text.toUpperCase().replaceAll('-', '_')

/** A kind of catalog as the surface has it. */
const kinds = (Object.keys(catalogKinds) as CatalogKind[]).map((kind) => {
  const camel = kind.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
  const { input }: Contract = metadataCatalogs[`create-${kind}`]
  const isOwn = (name: string) => name !== 'catalogId' && !isPlace(name)
  const options = Object.entries(fieldsOf(input) as Fields)
  return {
    kind,
    agentType: typeOf(kind),
    config: `${camel}AgentConfig`,
    options: Object.fromEntries(options.filter(([name]) => isOwn(name))),
    required: (jsonSchema(input).required ?? []).filter((option) => option !== 'catalogId'),
  }
})
const agentTypes = kinds.map(({ agentType }) => agentType)

const { catalogId: name } = Catalog.properties
const agentType = Type.Enum(agentTypes, { description: 'Type of the agent' })
const place = Object.fromEntries(
  placeFields.map((field) => [field, fieldsOf(metadataCatalogs['create-hive'].input)[field] as TSchema]),
) as Record<(typeof placeFields)[number], TSchema>

const texts = (kind: CatalogKind) =>
  record(
    Type.String({ maxLength: maxPathLength }),
    200,
    `Options of ${catalogKinds[kind].summary}, secrets masked`,
  )

const Agent = model('MetadataAgent', {
  name,
  location: Type.Enum(['LOCAL'], { description: 'LOCAL: the platform connects to the catalog itself' }),
  config: {
    ...Type.Object({ agentType, ...place }),
    // Each agent has one of them, and the others are not there as null.
    patternProperties: Object.fromEntries(kinds.map(({ kind, config }) => [`^${config}$`, texts(kind)])),
    description: 'Configuration as it was given',
  },
})

/** A catalog as the surface has it. */
function shown({ catalogId, kind: its, properties }: Catalog): object {
  const known = kinds.find(({ kind }) => kind === its)
  const all = Object.entries(properties)
  return {
    name: catalogId,
    location: 'LOCAL',
    config: {
      agentType: known?.agentType ?? its,
      [known?.config ?? its]: Object.fromEntries(all.filter(([field]) => !isPlace(field))),
      ...Object.fromEntries(all.filter(([field]) => isPlace(field))),
    },
  }
}

const one = '/agents/{name}'

/** The catalog that examples are about. */
const example = { name: exampleInput(metadataCatalogs.get)['catalogId'] }

/** An operation on one catalog, by the name that it has as an agent. */
const ofAgent = (
  calls: Contract,
  [method, path]: readonly [HttpRoute['method'], string],
  own: Pick<Own<Contract>, 'reply' | 'response'> = {},
): Operation =>
  operation(calls, method, path, {
    ...own,
    fields: { name },
    example,
    without: ['catalogId'],
    request: ({ name: catalogId, ...wire }) => ({ catalogId, ...wire }),
  })

/** The kind that a request is about: by its type, or else by whose options it has. */
function kindOf(wire: Wire): (typeof kinds)[number] {
  const given = kinds.filter(({ config }) => wire[config] !== undefined)
  const { agentType: type } = wire
  const asked = typeof type === 'string' ? kinds.filter((its) => its.agentType === typeOf(type)) : given
  const [its] = asked
  if (its === undefined || asked.length > 1)
    throw invalid([{ field: 'agentType', problem: `must be one of ${agentTypes.join(', ')}` }])
  const other = given.find((kind) => kind !== its)
  if (other !== undefined)
    throw notAccepted(
      other.config,
      `applies to agentType ${other.agentType}, not ${its.agentType}: remove it`,
    )
  return its
}

/** The options that a request has of its kind. */
function optionsOf(
  wire: Wire,
  { config, agentType: type, required }: (typeof kinds)[number],
  isNew: boolean,
): object {
  const { [config]: options } = wire
  if (isNew) {
    const place = required.find((option) => isPlace(option) && wire[option] === undefined)
    if (place !== undefined) throw notAccepted(place, `is missing: agentType ${type} requires it`)
    const own = required.filter((option) => !isPlace(option))
    if (options === undefined && own.length > 0)
      throw notAccepted(config, `is missing: agentType ${type} requires ${own.join(', ')}`)
  }
  if (options === undefined) return {}
  if (typeof options !== 'object' || options === null || Array.isArray(options))
    throw invalid([{ field: config, problem: 'must be an object' }])
  return options
}

/** A catalog whose options are beside it. */
const exampleOptions = (() => {
  const { catalogId: _, fileSystemId, ...options } = exampleInput(metadataCatalogs['create-filesystem'])
  return { agentType: 'FILESYSTEM', fileSystemId, filesystemAgentConfig: options }
})()

/** What makes or changes a catalog: one operation here, and a contract for each kind. */
function ofKinds(verb: 'create' | 'update', method: 'POST' | 'PUT', status: 200 | 201): Operation {
  const calls: Contract = metadataCatalogs[`${verb}-hive`]
  return operation(calls, method, one, {
    summary: verb === 'create' ? 'Add an agent' : 'Change an agent',
    status,
    needs: ['agentType'],
    example: { ...example, ...exampleOptions },
    fields: { name },
    without: Object.keys(fieldsOf(calls.input)),
    bodyFields: {
      agentType,
      ...Object.fromEntries(
        kinds.map(({ kind, config, options }) => [
          config,
          Type.Object(verb === 'create' ? options : optional(options), {
            description: `Options of ${catalogKinds[kind].summary}`,
          }),
        ]),
      ),
      ...place,
    },
    reply: Agent,
    response: (catalog) => shown(catalog as Catalog),
    request: (wire) => {
      const its = kindOf(wire)
      const set = placeFields.filter((field) => wire[field] !== undefined)
      return {
        catalogId: wire['name'],
        agentType: its.kind,
        ...optionsOf(wire, its, verb === 'create'),
        ...Object.fromEntries(set.map((field) => [field, wire[field]])),
      }
    },
    choose: ({ agentType: kind, ...input }) => ({
      calls: metadataCatalogs[`${verb}-${kind as CatalogKind}`],
      input,
    }),
  })
}

const optional = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).map(([field, schema]) => [field, Type.Optional(schema)]))

export const agentOperations: readonly Operation[] = [
  operation(metadataCatalogs.list, 'GET', '/agents', {
    reply: list(Agent),
    response: (all) => all.map(shown),
  }),
  ofKinds('create', 'POST', 201),
  ofKinds('update', 'PUT', 200),
  ofAgent(metadataCatalogs.get, ['GET', one], {
    reply: Agent,
    response: (catalog) => shown(catalog as Catalog),
  }),
  ofAgent(metadataCatalogs.delete, ['DELETE', one]),
  ofAgent(metadataCatalogs['check-stored'], ['POST', `${one}/check`]),
  ofAgent(metadataCatalogs.databases, ['GET', `${one}/databases`]),
  ofAgent(metadataCatalogs.tables, ['GET', `${one}/tables`]),
  ofAgent(metadataCatalogs.partitions, ['GET', `${one}/partitions`]),
  ofAgent(metadataCatalogs.indexes, ['GET', `${one}/indexes`]),
  ofAgent(metadataCatalogs.conf, ['GET', `${one}/conf`]),
]
