import { coerceField } from '../../subjects/kit/coerce.ts'
import type { Contract } from '../../subjects/kit/contract.ts'
import { kebab } from '../output/shape.ts'
import { isGantryError } from '../../subjects/kit/errors.ts'
import { fieldsOf, jsonSchema } from '../../subjects/kit/json-schema.ts'
import { commonRules, uncovered } from '../../subjects/kit/patterns.ts'
import { matches } from '../../subjects/kit/validate.ts'
import { assignments } from '../../subjects/access/assignments.ts'
import { type Capabilities, keys } from '../../subjects/access/keys.ts'
import { type Role, roles } from '../../subjects/access/roles.ts'
import { settings } from '../../subjects/access/settings.ts'
import { type FilesystemKind, filesystemKinds } from '../../subjects/filesystems/kinds.ts'
import { filesystems } from '../../subjects/filesystems/filesystems.ts'
import { type RuleType, ruleTypes, type SizeUnit, sizeUnits } from '../../subjects/migrations/model/rules.ts'
import { metadataCatalogs } from '../../subjects/metadata/catalogs.ts'
import { type CatalogKind, catalogKinds } from '../../subjects/metadata/kinds.ts'
import { metadataMigrations } from '../../subjects/metadata/migrations.ts'
import { metadataRules } from '../../subjects/metadata/rules.ts'
import { bandwidth, bandwidthUnits, limitsNothing, unlimited } from '../../subjects/migrations/bandwidth.ts'
import { migrations } from '../../subjects/migrations/migrations.ts'
import type { MigrationState } from '../../subjects/migrations/model/model.ts'
import { periodSeconds } from '../../subjects/migrations/model/recurrence.ts'
import { alerts } from '../../subjects/observability/alerts.ts'
import { exclusions } from '../../subjects/rules/exclusions.ts'
import { inclusions } from '../../subjects/rules/inclusions.ts'
import { pathMappings } from '../../subjects/rules/path-mappings.ts'
import { isRow, type Row } from '../output/fields.ts'

/** What deletes an object that nothing changes, so that it is made again; `by` is the field of the spec that it takes. */
export interface Replacement {
  readonly delete: Contract
  readonly by: string
  /** Field of migrations that names it: one that has it keeps it from being deleted. */
  readonly attachedAs?: 'exclusions' | 'inclusions'
}

/** What puts a name on a list of an object, and takes it off; both find the object by the field `of`. */
export interface NameList {
  readonly add: Contract
  readonly remove: Contract
  readonly of: string
  readonly item: string
}

/** Finds the object that a document names, by its kind and name; undefined where there is none. */
export type FindNamed = (kindName: string, name: string) => Promise<Row | undefined>

/** What a document says of an object that is there, in terms of what is there. */
export interface Meant {
  readonly spec: Row
  /** What of it cannot be done, or compared, and does not have to be. */
  readonly notes: readonly string[]
}

/** A kind of document, and the contracts that do what it says. Its `spec` is the input of `create`, which validates it. */
export interface DocumentKind {
  /** Makes it, or where there is no `update` also changes it if `isPut`. */
  readonly create: Contract
  readonly isPut?: true
  readonly update?: Contract
  readonly replace?: Replacement
  /** All of them; or of what there is only one, that. */
  readonly list: Contract
  /** What of the list is meant; default: all of it. */
  readonly listed?: Row
  /** Shows all of a row of which the list has a part. */
  readonly get?: {
    readonly contract: Contract
    readonly by: string
    readonly isPart: (row: Row) => boolean
  }
  /** Fields of the spec by which it is found again; none where there is only one. */
  readonly by: readonly string[]
  /** Further ones that not all of its objects have. */
  readonly byIfGiven?: readonly string[]
  /** Field of the rows of `list` that a page begins after; undefined where there are no pages. */
  readonly after?: string
  /** What a row of `list` says in the terms of the spec; undefined for what is of another kind, or comes with the platform. */
  readonly specOf: (row: Row) => Row | undefined
  /** Whether a row came with the platform, and is of no use to another one. */
  readonly isBuiltIn?: (row: Row) => boolean
  /** Fields of the spec that no reply shows. */
  readonly secrets?: readonly string[]
  /** Field by which `update` finds it, of the row of `list`. */
  readonly updateBy?: readonly [field: string, ofRow: string]
  /** What a spec says, with one field in place of several that are the same together; what is compared. */
  readonly compared?: (spec: Row) => Row
  /** What a spec that names another object says of one that is there. */
  readonly meant?: (spec: Row, there: Row, find: FindNamed) => Promise<Meant>
  /** Fields that are the same whatever they are written as. */
  readonly same?: Readonly<Record<string, (value: unknown) => unknown>>
  /** Whether a field that is not as wanted is what the platform has made of it, by its row among all rows of `list`. */
  readonly isBounded?: (field: string, wanted: unknown, row: Row, rows: readonly Row[]) => boolean
  /** Lists of names that are changed one by one, by the field. */
  readonly lists?: Readonly<Record<string, NameList>>
  /** The verb that ends an object, where it is not `delete`. */
  readonly ending?: string
}

/** Fields of a row that the spec has under the same name. */
const sameNames =
  (create: Contract, others: Readonly<Record<string, string>> = {}) =>
  (row: Row): Row =>
    Object.fromEntries(
      Object.keys(fieldsOf(create.input)).flatMap((name) => {
        const value = row[others[name] ?? name]
        return value === undefined || value === '' ? [] : [[name, value]]
      }),
    )

/** Of the options that a view has as text, all but secrets, as the request has them. */
function optionsOf(
  create: Contract,
  options: readonly string[],
  secrets: readonly string[],
  properties: Readonly<Record<string, string>>,
): Row {
  const fields = fieldsOf(create.input)
  const shown = Object.entries(properties).filter(
    ([name]) => options.includes(name) && !secrets.includes(name),
  )
  return Object.fromEntries(shown.map(([name, value]) => [name, coerceField({ ...fields[name] }, value)]))
}

function filesystem(kind: FilesystemKind): DocumentKind {
  const create: Contract = filesystems[`create-${kind}`]
  const { fsType, secrets, options } = filesystemKinds[kind]
  const fields = fieldsOf(create.input)
  const own = Object.keys(options)
  const needed = (jsonSchema(create.input).required ?? []).filter((name) => own.includes(name))
  const specOf = (row: Row): Row | undefined => {
    const properties = row['properties'] as Readonly<Record<string, string>>
    if (row['fsType'] !== fsType || needed.some((name) => properties[name] === undefined)) return undefined
    const entries = Object.entries(properties)
    const others = entries.filter(([name]) => !own.includes(name) && name !== 'reportedChanges')
    const takes = fields['additionalProperties']
    const isAdditional = ([name, value]: [string, string]) =>
      takes !== undefined && matches({ ...takes }, { [name]: value })
    const additional = others.filter(isAdditional)
    const kept = others.filter((one) => !isAdditional(one))
    return {
      fileSystemId: row['fileSystemId'],
      role: row['isSource'] === true ? 'source' : 'target',
      ...(row['isSource'] === true
        ? { scanOnly: row['isScanOnly'] }
        : { listenAndApplySourceChanges: row['listenAndApplySourceChanges'] ?? true }),
      ...optionsOf(create, own, secrets, properties),
      ...(properties['reportedChanges'] === 'true' && { reportedChanges: true }),
      ...(additional.length > 0 && { additionalProperties: Object.fromEntries(additional) }),
      ...(kept.length > 0 && { otherProperties: Object.fromEntries(kept) }),
    }
  }
  return {
    create,
    update: filesystems[`update-${kind}`],
    list: filesystems.list,
    by: ['fileSystemId', 'role'],
    after: 'fileSystemId',
    specOf,
    secrets,
  }
}

function catalog(kind: CatalogKind): DocumentKind {
  const create: Contract = metadataCatalogs[`create-${kind}`]
  const { secrets, options } = catalogKinds[kind]
  return {
    create,
    update: metadataCatalogs[`update-${kind}`],
    list: metadataCatalogs.list,
    by: ['catalogId'],
    after: 'catalogId',
    specOf: ({ kind: its, catalogId, properties }) =>
      its === kind
        ? {
            catalogId,
            ...optionsOf(create, Object.keys(options), secrets, properties as Record<string, string>),
          }
        : undefined,
    secrets,
  }
}

/** What a view of a rule says of each form. */
const ruleFields: Readonly<Record<RuleType, (row: Row) => Row | undefined>> = {
  regex: ({ regex, patternType }) => (regex === undefined ? undefined : { patternType, regex }),
  fileSize: ({ maxBytes, displayUnit }) =>
    maxBytes === undefined
      ? undefined
      : { value: Number(maxBytes) / sizeUnits[displayUnit as SizeUnit], unit: displayUnit },
  date: ({ beforeDateEpochMillis: at }) =>
    at === undefined ? undefined : { beforeIsoDateTime: new Date(Number(at)).toISOString() },
  age: ({ timeValue, timeUnit }) => (timeValue === undefined ? undefined : { timeValue, timeUnit }),
  paths: ({ paths }) => (paths === undefined ? undefined : { paths }),
}

const moment = (value: unknown): unknown => Date.parse(String(value))

function rule(
  resource: Readonly<Record<string, Contract>>,
  attachedAs: 'exclusions' | 'inclusions',
  type: RuleType,
): DocumentKind {
  return {
    create: resource[`create-${kebab(type)}`]!,
    list: resource['list']!,
    ...(type === 'paths' && {
      get: {
        contract: resource['get']!,
        by: 'id',
        isPart: ({ pathCount }) => pathCount !== undefined,
      },
    }),
    replace: { delete: resource['delete']!, by: 'id', attachedAs },
    by: ['id'],
    after: 'id',
    specOf: (row) => {
      const builtIn = ['fsRestriction', 'sourceFsExclusion', 'globalExclusion', 'defaultExclusion']
      const fields = builtIn.some((name) => row[name] === true) ? undefined : ruleFields[type](row)
      const { id, description, deletedWith } = row
      const head = {
        id,
        ...(description !== '' && { description }),
        ...(deletedWith !== undefined && { deletedWith }),
      }
      return fields && { ...head, ...fields }
    },
    same: { beforeIsoDateTime: moment },
  }
}

const rulesOfMigration = ({ attach, detach }: typeof exclusions | typeof inclusions): NameList => ({
  add: attach,
  remove: detach,
  of: 'migrationId',
  item: 'id',
})

/** Of a list in which the order says nothing. */
const inOrder = (names: unknown): unknown =>
  Array.isArray(names) ? (names as readonly string[]).toSorted() : names

const ids = (rules: unknown): unknown =>
  Array.isArray(rules) ? rules.map(({ id }: { id: string }) => id) : rules

/** Whether a migration is to run wherever it is made again: it does so here, or waits for it. */
const isToRun = (state: MigrationState): boolean =>
  !['NONSCHEDULED', 'STOPPING', 'STOPPED', 'COMPLETED'].includes(state)

/** A list of migrations shows rules as long as there is room for them. */
function lacksRules({ exclusions: excluded, inclusions: included, ruleCount }: Row): boolean {
  const length = (rules: unknown) => (Array.isArray(rules) ? rules.length : 0)
  return length(excluded) + length(included) < Number(ruleCount)
}

/** The largest unit of which it is a whole number. */
function inUnits(bytes: number): Row {
  if (bytes === unlimited) return { limit: unlimited }
  const fitting = Object.entries(bandwidthUnits).filter(([, size]) => bytes % size === 0)
  const [unit, size] = fitting.reduce((largest, one) => (one[1] > largest[1] ? one : largest))
  return { limit: bytes / size, unit }
}

function bandwidthSpec({ scope, name, limitBytesPerSecond, limitRequestsPerSecond, schedule }: Row): Row {
  return {
    scope,
    ...(name !== undefined && { name }),
    ...inUnits(Number(limitBytesPerSecond)),
    requests: limitRequestsPerSecond,
    ...(schedule !== undefined && { schedule }),
  }
}

function comparedBandwidth({ limit, unit, requests, schedule, ...rest }: Row): Row {
  const isEmpty = isRow(schedule) && Array.isArray(schedule['windows']) && schedule['windows'].length === 0
  const orNone = (value: unknown) => (value === unlimited ? 'none' : value)
  const bytes = limit === unlimited ? limit : Number(limit) * bandwidthUnits[String(unit)]!
  return {
    ...rest,
    ...(limit !== undefined && { limitBytesPerSecond: orNone(bytes) }),
    ...(requests !== undefined && { requests: orNone(requests) }),
    // Without windows it takes the schedule away.
    ...(schedule !== undefined && { schedule: isEmpty ? '' : schedule }),
  }
}

function migrationSpec(row: Row): Row {
  const spec = sameNames(migrations.create, { actionPolicy: 'targetActionPolicy' })(row)
  const { exclusions: _all, inclusions: included, recurringMigration, ...rest } = spec
  const { userDefinedExclusions: excluded, recurringPeriodSeconds: period } = row
  return {
    ...rest,
    ...(isToRun(row['state'] as MigrationState) && { autoStart: true }),
    ...(Array.isArray(excluded) && excluded.length > 0 && { exclusions: ids(excluded) }),
    ...(Array.isArray(included) && included.length > 0 && { inclusions: ids(included) }),
    ...(recurringMigration === true && {
      recurringMigration,
      ...(period !== undefined && { recurringPeriod: period }),
    }),
  }
}

const dayMs = 86_400_000

/** The lifetime of a key is that between its creation and its expiry. */
function keySpec(row: Row): Row {
  const { created, expires } = row as { created: string; expires?: string }
  const life = expires === undefined ? 0 : Date.parse(expires) - Date.parse(created)
  return {
    ...sameNames(keys.create)(row),
    // It is made some milliseconds after its end is set; one that ends with its creator may live for less than a day.
    ...(expires !== undefined && { expiresInDays: Math.max(1, Math.round(life / dayMs)) }),
  }
}

/**
 * The permissions that a key keeps of a role, which gave it those that the role had then: they can only become fewer.
 * Nobody has to be allowed to list roles for a key that is there.
 */
async function keptOfRole(spec: Row, there: Row, find: FindNamed): Promise<Meant> {
  const { role: name, ...rest } = spec as Row & { readonly role?: string }
  if (name === undefined) return { spec, notes: [] }
  const role = await find('role', name).catch((error: unknown) => {
    if (isGantryError(error, 'DENIED')) return 'denied' as const
    throw error
  })
  if (role === undefined || role === 'denied') {
    const why = role === undefined ? `there is no role ${name}` : 'your key may not list roles'
    return { spec: rest, notes: [`role: not compared, as ${why}`] }
  }
  const own = there['capabilities'] as Capabilities
  const { pub, sub } = role as unknown as Role
  const exceeds = (one: Capabilities, other: Capabilities) =>
    uncovered(other.pub.allow, one.pub.allow).length + uncovered(other.sub.allow, one.sub.allow).length > 0
  const kept = {
    pub: { allow: commonRules(own.pub.allow, pub.allow) },
    sub: { allow: commonRules(own.sub.allow, sub.allow) },
  }
  const gained = `role: ${name} allows more than this key, and a key cannot gain permissions; for all of them, revoke the key, then apply the file again`
  return {
    spec: exceeds(own, { pub, sub }) ? { ...rest, capabilities: kept } : rest,
    notes: exceeds({ pub, sub }, own) ? [gained] : [],
  }
}

/** Whether a key was to live for longer, and ends with the key that made it. */
function endsWithCreator(field: string, wanted: unknown, row: Row, rows: readonly Row[]): boolean {
  const { created, createdBy, expires } = row as { created: string; createdBy?: string; expires?: string }
  if (field !== 'expiresInDays' || typeof wanted !== 'number' || expires === undefined) return false
  const isLonger = Date.parse(created) + wanted * dayMs > Date.parse(expires)
  return isLonger && rows.some(({ id, expires: end }) => id === createdBy && end === expires)
}

/** In the order in which they are made: what others name comes before them. */
export const documentKinds: Readonly<Record<string, DocumentKind>> = {
  settings: {
    create: settings.put,
    isPut: true,
    list: settings.get,
    by: [],
    specOf: sameNames(settings.put),
  },
  ...Object.fromEntries(
    Object.keys(filesystemKinds).map((kind) => [`filesystem-${kind}`, filesystem(kind as FilesystemKind)]),
  ),
  ...Object.fromEntries(
    ruleTypes.map((type) => [`exclusion-${kebab(type)}`, rule(exclusions, 'exclusions', type)]),
  ),
  ...Object.fromEntries(
    ruleTypes.map((type) => [`inclusion-${kebab(type)}`, rule(inclusions, 'inclusions', type)]),
  ),
  'path-mapping': {
    create: pathMappings.create,
    list: pathMappings.list,
    replace: { delete: pathMappings.delete, by: 'pathMappingId' },
    by: ['pathMappingId'],
    after: 'id',
    specOf: sameNames(pathMappings.create, { pathMappingId: 'id' }),
  },
  migration: {
    create: migrations.create,
    update: migrations.update,
    list: migrations.list,
    get: { contract: migrations.get, by: 'migrationId', isPart: lacksRules },
    by: ['migrationId'],
    after: 'migrationId',
    specOf: migrationSpec,
    same: {
      exclusions: inOrder,
      inclusions: inOrder,
      recurringPeriod: (value) => periodSeconds(value as number | string),
    },
    lists: { exclusions: rulesOfMigration(exclusions), inclusions: rulesOfMigration(inclusions) },
  },
  'bandwidth-limit': {
    create: bandwidth.set,
    isPut: true,
    list: bandwidth.list,
    by: ['scope'],
    byIfGiven: ['name'],
    specOf: bandwidthSpec,
    compared: comparedBandwidth,
    isBuiltIn: limitsNothing,
  },
  ...Object.fromEntries(
    Object.keys(catalogKinds).map((kind) => [`catalog-${kind}`, catalog(kind as CatalogKind)]),
  ),
  'metadata-rule': {
    create: metadataRules.create,
    update: metadataRules.update,
    list: metadataRules.list,
    by: ['ruleName'],
    after: 'ruleName',
    specOf: sameNames(metadataRules.create),
  },
  'metadata-migration': {
    create: metadataMigrations.create,
    update: metadataMigrations.update,
    list: metadataMigrations.list,
    by: ['migrationName'],
    after: 'migrationName',
    specOf: (row) => ({
      ...sameNames(metadataMigrations.create)(row),
      ...(row['state'] === 'RUNNING' && { autoStart: true }),
    }),
  },
  role: {
    create: roles.put,
    isPut: true,
    list: roles.list,
    by: ['name'],
    after: 'name',
    specOf: sameNames(roles.put),
    isBuiltIn: ({ builtIn }) => builtIn === true,
  },
  assignment: {
    create: assignments.put,
    isPut: true,
    list: assignments.list,
    by: ['group'],
    after: 'group',
    specOf: sameNames(assignments.put),
  },
  key: {
    create: keys.create,
    update: keys.update,
    list: keys.list,
    // Another user's key of the same name is none of the file's.
    listed: { own: true },
    by: ['name'],
    after: 'id',
    specOf: (row) =>
      row['revoked'] === undefined && row['kind'] === 'key' && row['createdBy'] !== undefined
        ? keySpec(row)
        : undefined,
    isBounded: endsWithCreator,
    meant: keptOfRole,
    updateBy: ['id', 'id'],
    ending: 'revoke',
  },
  'alert-rule': {
    create: alerts['put-rule'],
    isPut: true,
    list: alerts.rules,
    by: ['name'],
    after: 'name',
    specOf: sameNames(alerts['put-rule']),
  },
  webhook: {
    create: alerts['put-webhook'],
    isPut: true,
    list: alerts.webhooks,
    by: ['name'],
    specOf: (row) => {
      const { url: _masked, ...spec } = sameNames(alerts['put-webhook'])(row)
      return spec
    },
    // Of the address replies show the host alone.
    secrets: ['secret', 'url'],
  },
}
