import { invalid } from '../../../subjects/kit/errors.ts'
import { Type } from 'typebox'
import type { Contract } from '../../../subjects/kit/contract.ts'
import { exampleInput } from '../../../subjects/documents/examples.ts'
import { fieldsOf } from '../../../subjects/kit/json-schema.ts'
import { list, model } from '../../../subjects/kit/schemas.ts'
import { MetadataMigration, metadataMigrations } from '../../../subjects/metadata/migrations.ts'
import type { CallOutcome } from '../../server/definition.ts'
import { type Operation, operation, type Own, type Wire } from '../../surface/operation.ts'

/** What one request may be about: each is a call, one after the other. */
const maxNames = 100

const { migrationName: name, source, target, ruleNames, ...others } = MetadataMigration.properties
const endpoints = { sourceAgentName: source, targetAgentName: target, rules: ruleNames }

const Migration = model('MetadataMigration', { name, ...endpoints, ...others })

const shown = ({
  migrationName,
  source: from,
  target: to,
  ruleNames: rules,
  ...rest
}: MetadataMigration) => ({
  name: migrationName,
  sourceAgentName: from,
  targetAgentName: to,
  rules,
  ...rest,
})

function native({ name: migrationName, sourceAgentName, targetAgentName, rules, ...wire }: Wire): Wire {
  return { ...wire, migrationName, source: sourceAgentName, target: targetAgentName, ruleNames: rules }
}

const migrationNames = Type.Array(name, {
  minItems: 1,
  maxItems: maxNames,
  description: 'Names of migrations, processed in order',
})

const Outcome = model('MetadataCommandOutcome', {
  name,
  done: Type.Boolean({ description: 'Whether the command was carried out' }),
  state: Type.Optional(MetadataMigration.properties.state),
  code: Type.Optional(Type.String({ description: 'Error code of /api/v1, if the command failed' })),
  message: Type.Optional(Type.String({ description: 'Error message, if the command failed' })),
})

/** What came of a command to one of several. */
function told({ input, reply, error }: CallOutcome): object {
  const { migrationName } = input as { migrationName: string }
  return error === undefined
    ? { name: migrationName, done: true, state: (reply as MetadataMigration).state }
    : { name: migrationName, done: false, code: error.code, message: error.message }
}

/** The same command to each of the migrations, in their order. */
function commandToEach({ migrationNames: names, ...rest }: Wire): readonly Wire[] {
  if (!Array.isArray(names) || names.length === 0 || names.length > maxNames)
    throw invalid([{ field: 'migrationNames', problem: `must have 1 to ${maxNames} names` }])
  return Array.from(new Set<unknown>(names), (each) => ({ migrationName: each, ...rest }))
}

const toSeveral = (
  verb: 'start' | 'pause' | 'resume' | 'stop' | 'reset',
  own: Pick<Own<Contract>, 'bare'> = {},
): Operation =>
  operation(metadataMigrations[verb] as Contract, 'POST', `/migration/${verb}`, {
    ...own,
    description:
      'The migrations are processed one after the other. If one fails, the reply is its error, and `details` contains the result of each.',
    without: ['migrationName'],
    bodyFields: { migrationNames },
    needs: ['migrationNames'],
    reply: list(Outcome),
    each: { inputs: commandToEach, tell: told },
  })

/** The migration that examples are about, by its names here. */
const {
  migrationName: exampleName,
  source: from,
  target: to,
  ruleNames: exampleRules,
} = exampleInput(metadataMigrations.create)
const example = { name: exampleName, sourceAgentName: from, targetAgentName: to, rules: exampleRules }

const ofMigration = (calls: Contract, own: Own<Contract> & { readonly at?: string } = {}): Operation => {
  const { at = '', ...rest } = own
  return operation(calls, calls === metadataMigrations.delete ? 'DELETE' : 'GET', `/migration/{name}${at}`, {
    ...rest,
    example,
    fields: { name, ...rest.fields },
    without: ['migrationName', ...(rest.without ?? [])],
    request: rest.request ?? (({ name: migrationName }) => ({ migrationName })),
  })
}

const one = {
  reply: Migration,
  response: (migration: unknown) => shown(migration as MetadataMigration),
}
const { forceStop } = fieldsOf(metadataMigrations.delete.input)

export const migrationOperations: readonly Operation[] = [
  operation(metadataMigrations.list, 'GET', '/migration', {
    reply: list(Migration),
    response: (all) => all.map(shown),
  }),
  operation(metadataMigrations.create, 'POST', '/migration', {
    status: 201,
    without: ['migrationName', 'source', 'target', 'ruleNames'],
    bodyFields: {
      name,
      ...endpoints,
      rules: fieldsOf(metadataMigrations.create.input)['ruleNames']!,
    },
    needs: ['name', ...Object.keys(endpoints)],
    example,
    request: native,
    reply: Migration,
    response: shown,
  }),
  ofMigration(metadataMigrations.get, one),
  ofMigration(metadataMigrations.get, { ...one, at: '/status', variant: 'status' }),
  ofMigration(metadataMigrations.delete, {
    fields: { stop: forceStop! },
    without: ['forceStop'],
    request: ({ name: migrationName, stop }) => ({
      migrationName,
      ...(stop === undefined ? {} : { forceStop: stop }),
    }),
  }),
  toSeveral('start'),
  toSeveral('pause'),
  toSeveral('resume'),
  toSeveral('stop', { bare: 'migrationNames' }),
  toSeveral('reset'),
]
