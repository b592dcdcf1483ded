import { type TSchema, Type } from 'typebox'
import type { Contract, HttpRoute } from '../../../subjects/kit/contract.ts'
import { fieldsOf } from '../../../subjects/kit/json-schema.ts'
import { list, maxPathLength, model, record } from '../../../subjects/kit/schemas.ts'
import { invalid } from '../../../subjects/kit/validate.ts'
import { Catalog, metadataCatalogs } from '../../../subjects/metadata/catalogs.ts'
import { type CatalogKind, catalogKinds } from '../../../subjects/metadata/kinds.ts'
import { type Fields, type Operation, operation, type Own, type Wire } from '../../surface/operation.ts'

/** What is beside the options of a kind on the surface, and among them in the contracts. */
const placeFields = ['fileSystemId', 'defaultFsOverride'] as const

const isPlace = (name: string): boolean => placeFields.some((field) => field === name)

/** A kind of catalog as the surface has it. */
const kinds = (Object.keys(catalogKinds) as CatalogKind[]).map((kind) => {
  const camel = kind.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
  const options = Object.entries(fieldsOf(metadataCatalogs[`create-${kind}`].input)) as [string, TSchema][]
  const isOwn = ([name]: [string, TSchema]) => name !== 'catalogId' && !isPlace(name)
  return {
    kind,
    agentType: kind.toUpperCase().replaceAll('-', '_'),
    config: `${camel}AgentConfig`,
    options: Object.fromEntries(options.filter(isOwn)),
  }
})
const agentTypes = kinds.map(({ agentType }) => agentType)

const { catalogId: name } = Catalog.properties
const agentType = Type.Enum(agentTypes, { description: 'What it is' })
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
  location: Type.Enum(['LOCAL'], { description: 'LOCAL: the platform itself asks it' }),
  config: {
    ...Type.Object({ agentType, ...place }),
    // Each agent has one of them, and the others are not there as null.
    patternProperties: Object.fromEntries(kinds.map(({ kind, config }) => [`^${config}$`, texts(kind)])),
    description: 'As it was given',
  },
})

/** A catalog as the surface has it. */
function shown({ catalogId, kind: path, properties }: Catalog): object {
  const known = kinds.find(({ kind }) => catalogKinds[kind].path === path || kind === path)
  const all = Object.entries(properties)
  return {
    name: catalogId,
    location: 'LOCAL',
    config: {
      agentType: known?.agentType ?? path,
      [known?.config ?? path]: Object.fromEntries(all.filter(([field]) => !isPlace(field))),
      ...Object.fromEntries(all.filter(([field]) => isPlace(field))),
    },
  }
}

const one = '/agents/{name}'

/** An operation on one catalog, by the name that it has as an agent. */
const ofAgent = (
  calls: Contract,
  [method, path]: readonly [HttpRoute['method'], string],
  own: Pick<Own<Contract>, 'reply' | 'response'> = {},
): Operation =>
  operation(calls, method, path, {
    ...own,
    fields: { name },
    without: ['catalogId'],
    request: ({ name: catalogId, ...wire }) => ({ catalogId, ...wire }),
  })

/** The kind that a request is about: by its type, or else by whose options it has. */
function kindOf(wire: Wire): (typeof kinds)[number] {
  const given = kinds.filter(({ config }) => wire[config] !== undefined)
  const { agentType: type } = wire
  const asked = typeof type === 'string' ? kinds.filter((its) => its.agentType === type.toUpperCase()) : given
  const [its] = asked
  if (its === undefined || asked.length > 1)
    throw invalid([{ field: 'agentType', problem: `must be one of ${agentTypes.join(', ')}` }])
  const other = given.find((kind) => kind !== its)
  if (other !== undefined)
    throw invalid([
      { field: other.config, problem: `is for agentType ${other.agentType}, not ${its.agentType}` },
    ])
  return its
}

/** What makes or changes a catalog: one operation here, and a contract for each kind. */
function ofKinds(verb: 'create' | 'update', method: 'POST' | 'PUT', status: 200 | 201): Operation {
  const calls: Contract = metadataCatalogs[`${verb}-hive`]
  return operation(calls, method, one, {
    summary: verb === 'create' ? 'Add an agent' : 'Change an agent',
    status,
    needs: ['agentType'],
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
        ...(wire[its.config] as Wire | undefined),
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
]
