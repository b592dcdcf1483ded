import { describe, expect, test } from 'vitest'
import { filesystemKinds } from '../../subjects/filesystems/kinds.ts'
import { viewer } from '../../services/access/roles/built-in-roles.ts'
import { agents } from '../../subjects/migrations/agents.ts'
import { alerts } from '../../subjects/observability/alerts.ts'
import { type Contract, verbOf } from '../../subjects/kit/contract.ts'
import { commonCodes, errors } from '../../subjects/kit/errors.ts'
import { agentResources, contracts, eventContracts, internalContracts } from '../../subjects/index.ts'
import { extensionStorage } from '../../subjects/extensions/storage.ts'
import { extensions } from '../../subjects/extensions/extensions.ts'
import { filesystems } from '../../subjects/filesystems/filesystems.ts'
import { fieldSchema } from '../../cli/output/fields.ts'
import { fieldsOf, type JsonSchema, jsonSchema } from '../../subjects/kit/json-schema.ts'
import { keys } from '../../subjects/access/keys.ts'
import { logging } from '../../subjects/observability/logging.ts'
import { product, roots } from '../../subjects/kit/names.ts'
import { observability } from '../../subjects/observability/observability.ts'
import { platform } from '../../subjects/platform/platform.ts'
import { pathFields, routeFields } from '../../subjects/kit/route.ts'
import { maxIdLength } from '../../subjects/kit/schemas.ts'
import { usage } from '../../subjects/observability/usage.ts'
import { matches, problemsOf } from '../../subjects/kit/validate.ts'
import { parseCommand } from '../../subjects/documents/command-example.ts'
import { unboundedIn, untypedIn } from './schema-rules.ts'

/** One token of a subject by NATS ADR-6, kebab-case as our names are. */
const token = /^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/
/** Names that the specification gives. */
const given = ['query_scalar_metrics']
/** Longest subject that nats-server takes by default is a control line of 4096 bytes; ours stay readable. */
const maxSubjectLength = 255

const declared = [...contracts, ...internalContracts]
const named = <C extends { subject: string }>(list: readonly C[]) =>
  list.map((contract): [string, C] => [contract.subject, contract])

const repeated = (list: readonly string[]) => list.filter((item, index) => list.indexOf(item) !== index)

test('no two contracts or events have the same subject', () => {
  const subjects = [...declared, ...eventContracts].map(({ subject }) => subject)
  expect(subjects.length).toBeGreaterThan(0)
  expect(repeated(subjects)).toEqual([])
})

test('no two routes have the same method and path, whatever their fields are called', () => {
  const routes = contracts.flatMap(({ http }) =>
    http.map(({ method, path }) => `${method} ${path.replaceAll(/\{[^}]*\}/g, '{}')}`),
  )
  expect(repeated(routes)).toEqual([])
})

test('internal contracts have no route and no command', () => {
  expect(internalContracts.filter(({ http, cli }) => http.length > 0 || cli !== undefined)).toEqual([])
})

/** What administrators do without giving or taking anybody's rights, or warnings. */
const passing: readonly Contract[] = [
  platform['accept-losses'],
  keys.examine,
  agents['put-settings'],
  logging.put,
  alerts['test-webhook'],
]
/** What is said again and again, so that a record of each would say nothing. */
const repeating = [
  extensions.heartbeat.subject,
  filesystems['report-changes'].subject,
  observability.report.subject,
  usage.record.subject,
]
/** By its route nobody could tell whether it changes something. */
const changing = (contract: Contract) => contract.brokerOnly === true && !repeating.includes(contract.subject)

test('what has no route is internal, or for programs on the broker', () => {
  const withoutRoute = contracts.filter(({ http }) => http.length === 0)
  // Storing is the work of extensions themselves: their own business, and as much of it as they like.
  const known: readonly Contract[] = Object.values(extensionStorage)
  expect(withoutRoute.filter((one) => one.brokerOnly !== true && !known.includes(one))).toEqual([])
  expect(contracts.filter((one) => one.brokerOnly && (one.http.length > 0 || one.cli !== undefined))).toEqual(
    [],
  )
  expect(internalContracts.filter(({ audit }) => audit !== undefined)).toEqual([])
})

const secretOptions: readonly string[] = Object.values(filesystemKinds).flatMap(({ secrets }) => [...secrets])

describe.each(named(contracts))('%s', (_, contract) => {
  const { audit, http, input, output, subject } = contract

  test('is recorded when it changes something, and not when it only looks', () => {
    // What anybody may call is a sign-in, which is recorded as such when it is known whose.
    const changes =
      http.some(({ method, public: open }) => method !== 'GET' && open === undefined) || changing(contract)
    expect(audit !== undefined).toBe(changes)
    // Whoever may only look changes nothing.
    if (changes || contract.brokerOnly === true) expect(viewer.pub.allow).not.toContain(subject)
  })

  test('is withheld from tokens that were replaced when administrators decide by it who may do what', () => {
    const isOfAdministrators = http.some(({ path }) => path.startsWith('/api/v1/admin/'))
    if (audit !== undefined && isOfAdministrators)
      expect(contract.lasting === true).toBe(!passing.includes(contract))
    if (contract.lasting) expect(audit).toBeDefined()
  })

  test('has in its record fields of its input, none of them a secret', () => {
    for (const name of audit?.details ?? []) {
      expect(Object.keys(fieldsOf(input))).toContain(name)
      expect([...(contract.cli?.secrets ?? []), ...secretOptions]).not.toContain(name)
    }
  })

  test('names its object by a field that is text, of the input or of the output', () => {
    if (audit?.object === undefined) return
    const field = { ...fieldsOf(output), ...fieldsOf(input) }[audit.object]
    expect(field?.type === 'string' || field?.enum !== undefined).toBe(true)
    expect((field as { maxLength?: number }).maxLength ?? 0).toBeLessThanOrEqual(maxIdLength)
  })
})

describe.each(named(declared))('%s', (subject, contract) => {
  const { resource, verb, input, output, summary } = contract
  const fields = Object.keys(fieldsOf(input))
  const required = jsonSchema(input).required ?? []

  test('has a subject in the grammar', () => {
    const root = contracts.includes(contract) ? roots.services : roots.internal
    const isForAgents = Object.values(agentResources).some((its) =>
      Object.values<Contract>(its).includes(contract),
    )
    // Each agent asks under its own key id.
    expect(subject).toBe(isForAgents ? `${roots.agents}.*.${verb}` : `${root}.${resource}.${verb}`)
    expect(resource).toMatch(token)
    if (!given.includes(verb)) expect(verb).toMatch(token)
    expect(subject.length).toBeLessThanOrEqual(maxSubjectLength)
  })

  test('has a summary of one line without a full stop', () => {
    expect(summary).toMatch(/^[^\s].*[^\s.]$/)
  })

  test('takes an object, and bounds all that it takes and replies', () => {
    expect(jsonSchema(input).type).toBe('object')
    expect(unboundedIn(input, 'input')).toEqual([])
    expect(unboundedIn(output, 'output')).toEqual([])
  })

  test('says of each field what it is', () => {
    // A reply between our own services may hand on what a contract for callers has checked.
    const reply = contracts.includes(contract) ? untypedIn(output, 'output') : []
    expect([...untypedIn(input, 'input'), ...reply]).toEqual([])
  })

  test('declares errors of the table, each once, and not those that every call has', () => {
    expect(contract.errors.filter((code) => !Object.hasOwn(errors, code))).toEqual([])
    // No token is looked at on a public route: that such a contract refuses people, it says itself.
    const isPublic = contract.http.some((route) => route.public)
    const common = isPublic ? commonCodes.filter((code) => code !== 'UNAUTHENTICATED') : commonCodes
    expect(repeated([...contract.errors, ...common])).toEqual([])
  })

  test('is plain data', () => {
    expect(JSON.parse(JSON.stringify(contract))).toEqual(contract)
  })

  describe.each(
    contract.http.map((route): [string, typeof route] => [`${route.method} ${route.path}`, route]),
  )('on %s', (_, route) => {
    const { path, query, bind = {}, bearer } = route

    test('has a path of plain segments and whole fields', () => {
      expect(path).toMatch(/^(?:\/(?:[A-Za-z0-9._~-]+|\{[A-Za-z0-9_]+\}))+$/)
    })

    test('names fields of the input alone, each in one place', () => {
      const places = [
        pathFields(path),
        query === 'all' ? [] : (query ?? []),
        Object.keys(bind),
        bearer ?? [],
      ].flat()
      expect(places.filter((name) => !fields.includes(name))).toEqual([])
      expect(repeated(places)).toEqual([])
    })

    test('carries or binds every field that is required', () => {
      const places = Object.values(routeFields(contract, route)).flat()
      const given = [...places, ...Object.keys(bind), bearer]
      expect(required.filter((name) => !given.includes(name))).toEqual([])
    })

    test('takes a bearer of somebody else’s making only where ours is not looked at', () => {
      if (bearer !== undefined) expect(route.public).toBe('credentials')
    })

    test('has text or numbers in its path', () => {
      const types = pathFields(path).map((name) => fieldsOf(input)[name]?.type)
      expect(types.filter((type) => type !== 'string' && type !== 'integer')).toEqual([])
    })

    test('binds values that the fields allow', () => {
      const wrong = Object.entries(bind).filter(([name, value]) => !matches(fieldsOf(input)[name]!, value))
      expect(wrong).toEqual([])
    })
  })
})

const commands = contracts.filter(({ cli }) => cli !== undefined)

/** Of a list its items, of an object its fields and those of the lists in it, however deep. */
const shownIn = (schema: JsonSchema): JsonSchema[] => [
  schema,
  ...(schema.items === undefined ? [] : shownIn(schema.items)),
  ...Object.values(schema.properties ?? {}).flatMap(shownIn),
]

test.each(named(commands))(
  '%s has a command of input fields, and columns of output fields',
  (_, contract) => {
    const { args = [], columns = [], secrets = [] } = contract.cli ?? {}
    const fields = Object.keys(fieldsOf(contract.input))
    const reply = jsonSchema(contract.output)
    const shown = shownIn(reply)
    expect([...args, ...secrets].filter((name) => !fields.includes(name))).toEqual([])
    expect(repeated(args)).toEqual([])
    const isShown = (name: string) => shown.some((schema) => fieldSchema(schema, name) !== undefined)
    expect(columns.filter((name) => !isShown(name))).toEqual([])
  },
)

test.each(named(commands.filter(({ cli }) => cli?.waits !== undefined)))(
  '%s waits with a verb that shows the job, and fails by fields that it has',
  (_, { resource, output, cli }) => {
    const { verb, by, ...waits } = cli!.waits!
    const get = contracts.find((one) => one.resource === resource && one.verb === verb)!
    expect(jsonSchema(get.input).required).toEqual([by])
    const needed = 'while' in waits ? [by, waits.while.field] : ['status', ...waits.zero]
    expect(Object.keys(fieldsOf(get.output))).toEqual(expect.arrayContaining(needed))
    const shown = 'while' in waits ? needed : ['id']
    const isShown = (name: string) =>
      shownIn(jsonSchema(output)).some((schema) => fieldSchema(schema, name) !== undefined)
    expect(shown.filter((name) => !isShown(name))).toEqual([])
  },
)

test.each(named(commands.filter(({ cli }) => cli?.example !== undefined)))(
  '%s has an example that is a valid call',
  (_, contract) => {
    const { command, values } = parseCommand(contract, contract.cli!.example!)
    expect(command).toEqual([product, contract.resource, verbOf(contract)])
    expect(problemsOf(contract.input, values)).toEqual([])
  },
)

describe.each(named(eventContracts))('%s', (subject, event) => {
  test('has a subject in the grammar', () => {
    const now = event.ephemeral ? '.now' : ''
    expect(subject).toBe(`${roots.events}.${event.resource}${now}.${event.event}.{id}`)
    expect(event.resource).toMatch(token)
    expect(event.event).toMatch(token)
  })

  test('bounds its payload, and is plain data', () => {
    expect(unboundedIn(event.payload, 'payload')).toEqual([])
    expect(untypedIn(event.payload, 'payload')).toEqual([])
    expect(JSON.parse(JSON.stringify(event))).toEqual(event)
    expect(event.summary).toMatch(/^[^\s].*[^\s.]$/)
  })
})

test('a switch says what it does when it is on, as a form, the documents and --help show it', () => {
  const switchesIn = (schema: JsonSchema, path: string): string[] => [
    ...(schema.type === 'boolean' ? [`${path}: ${schema.description ?? ''}`] : []),
    ...Object.entries(fieldsOf(schema)).flatMap(([name, field]) => switchesIn(field, `${path}.${name}`)),
  ]
  const said = contracts.flatMap(({ input, subject }) => switchesIn(jsonSchema(input), subject))
  expect(said.length).toBeGreaterThan(50)
  // The values of a switch are on and off to whoever sees a form.
  expect(
    said.filter((one) => /\b(?:true|false)\b/.test(one.replace(/default:? (?:true|false)/i, ''))),
  ).toEqual([])
})
