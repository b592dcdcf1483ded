import { isDeepStrictEqual } from 'node:util'
import type { Owned } from '../../../broker/rpc/owners.ts'
import type { Call, Contract, Handlers } from '../../../subjects/kit/contract.ts'
import { type ErrorCode, GantryError, notAccepted } from '../../../subjects/kit/errors.ts'
import { product } from '../../../subjects/kit/names.ts'
import { maxPageLength } from '../../../subjects/kit/schemas.ts'
import type { CatalogCheck, metadataCatalogs } from '../../../subjects/metadata/catalogs.ts'
import { type CatalogKind, catalogKinds, type CatalogSpec } from '../../../subjects/metadata/kinds.ts'
import { onePlaceOfData } from '../../../subjects/metadata/place-of-data.ts'
import { StoreError } from '../../drivers/contract/store-error.ts'
import { type KindOfOptions, requireSecretsAgain, withoutReplaced } from '../../kit/changed-options.ts'
import type { Asker } from '../../questions/question-threads.ts'
import type { CatalogQuestions, NamePage, QuestionKind } from '../catalogs/questions.ts'
import type { MetadataDependencies } from './dependencies.ts'
import { checkOfKeptOnly, isKeptOnly, requireOptions, requireSpoken } from './kept-only.ts'
import { type CatalogRecord, publicCatalog, sealedOptions, specOf, specWith } from './record.ts'
import { inUseText } from '../../../subjects/kit/in-use.ts'
import { itOrThem } from '../../../subjects/kit/plural.ts'
import { shellArgument } from '../../../subjects/kit/shell-word.ts'

/** Settings whose values nobody is shown; servers refuse only some of them. */
const secretSetting = /passw|secret|credential|token|(?:access|private|account|shared)[._-]?key/i

type Asking = Pick<Call<Contract>, 'caller' | 'signal'>

export function catalogHandlers(dependencies: MetadataDependencies): Handlers<typeof metadataCatalogs> {
  const { owners, catalogs, records, sealer, ask } = dependencies
  const kinds = Object.keys(catalogKinds) as CatalogKind[]
  const perKind = Object.fromEntries(
    kinds.flatMap((kind) => [
      [`create-${kind}`, creator(kind, dependencies)],
      [`update-${kind}`, updater(kind, dependencies)],
      [`check-${kind}`, checker(kind, dependencies)],
    ]),
  ) as unknown as Pick<
    Handlers<typeof metadataCatalogs>,
    `create-${CatalogKind}` | `update-${CatalogKind}` | `check-${CatalogKind}`
  >
  const find = async (catalogId: string): Promise<CatalogRecord> => {
    const record = await catalogs.get(catalogId)
    if (record === undefined) throw new GantryError('NOT_FOUND', `there is no catalog ${catalogId}`)
    return record
  }
  /** Asks a catalog that is stored. */
  const question = async <K extends QuestionKind>(
    catalogId: string,
    kind: K,
    asked: CatalogQuestions[K]['asked'],
    call: Asking,
  ): Promise<CatalogQuestions[K]['answer']> => {
    const record = await find(catalogId)
    requireSpoken(record.kind, catalogId)
    const asker = await askerOf(dependencies, call, record)
    try {
      return await ask(kind, specOf(record, sealer), asked, asker)
    } catch (error) {
      throw catalogFailure(error, catalogId)
    }
  }
  const pageOf = ({ like, after, limit = maxPageLength }: Partial<NamePage>): NamePage => ({
    like,
    after,
    limit,
  })

  return {
    ...perKind,
    kinds: () =>
      kinds.map((kind) => ({
        kind: catalogKinds[kind].path,
        description: `${catalogKinds[kind].summary}${isKeptOnly(kind) ? ' (kept only: this release does not speak to it)' : ''}`,
      })),
    list: async ({ limit = maxPageLength, after }) =>
      (await catalogs.list({ after, limit })).map(publicCatalog),
    get: async ({ catalogId }) => publicCatalog(await find(catalogId)),
    delete: async ({ catalogId }) => {
      await find(catalogId)
      const users = (await records.all())
        .filter(({ source, target }) => source === catalogId || target === catalogId)
        .map(({ migrationName }) => migrationName)
      if (users.length > 0)
        throw new GantryError(
          'IN_USE',
          inUseText(
            catalogId,
            users.slice(0, 10),
            `delete ${itOrThem(users)}`,
            (name) => `metadata-migrations delete ${shellArgument(name)}`,
          ),
          { details: { migrations: users } },
        )
      await catalogs.delete(catalogId)
      return {}
    },
    'check-stored': async ({ catalogId }, call) => {
      const record = await find(catalogId)
      return checked(specOf(record, sealer), await askerOf({ owners }, call, record), ask)
    },
    databases: async ({ catalogId, ...page }, call) => {
      const { names } = await question(catalogId, 'databases', pageOf(page), call)
      return names.map((name) => ({ name }))
    },
    database: async ({ catalogId, database }, call) => {
      const found = await question(catalogId, 'database', { database }, call)
      if (found.database === undefined) throw call.fail('NOT_FOUND', `there is no database ${database}`)
      return found.database
    },
    tables: async ({ catalogId, database, ...page }, call) => {
      const { tables } = await question(catalogId, 'tables', { database, ...pageOf(page) }, call)
      return [...tables]
    },
    table: async ({ catalogId, database, table: name }, call) => {
      const { table } = await question(catalogId, 'table', { database, name }, call)
      if (table === undefined) throw call.fail('NOT_FOUND', `there is no table ${database}.${name}`)
      return table
    },
    partitions: async ({ catalogId, database, table: name, ...page }, call) => {
      const { partitions } = await question(
        catalogId,
        'partitions',
        { database, name, ...pageOf(page) },
        call,
      )
      return [...partitions]
    },
    partition: async ({ catalogId, database, table: name, partition: its }, call) => {
      const found = await question(catalogId, 'partition', { database, name, partition: its }, call)
      if (found.partition === undefined)
        throw call.fail('NOT_FOUND', `there is no partition ${its} in ${database}.${name}`)
      return found.partition
    },
    indexes: async ({ catalogId, database, table: name }, call) => {
      const { indexes } = await question(catalogId, 'indexes', { database, name }, call)
      return [...indexes]
    },
    conf: async ({ catalogId, parameter, like }, call) => {
      if (parameter !== undefined && secretSetting.test(parameter))
        throw notAccepted('parameter', 'must be a parameter that does not contain a secret')
      const { settings } = await question(catalogId, 'settings', { parameter, like }, call)
      return [...settings]
    },
  }
}

const askerOf = async (
  { owners }: Pick<MetadataDependencies, 'owners'>,
  { caller, signal }: Asking,
  record?: CatalogRecord,
): Promise<Asker> => ({
  owner: (await owners.allowanceOf(caller))?.owner ?? record?.owner ?? '',
  signal,
})

/** Makes a catalog of a kind, once it has been asked. */
function creator(kind: CatalogKind, { owners, catalogs, sealer, ...asking }: MetadataDependencies) {
  const owned: Owned = {
    limit: 'maxCatalogs',
    what: 'catalogs',
    fix: `delete some with "${product} metadata-catalogs delete"`,
    count: (owner) => catalogs.sizeOfGroup(owner),
  }
  return async ({ catalogId, ...options }: { catalogId: string }, call: Asking) => {
    const allowance = await owners.allowanceOf(call.caller)
    if ((await catalogs.get(catalogId)) !== undefined)
      throw new GantryError('ALREADY_EXISTS', `catalog ${catalogId} already exists`)
    const asker = { owner: allowance?.owner ?? '', signal: call.signal }
    await requireReachable(asking, catalogId, specWith(kind, options), asker)
    const record: CatalogRecord = { catalogId, kind, options: sealedOptions(kind, options, sealer) }
    await owners.make(allowance, owned, (owner) =>
      catalogs.create(catalogId, { ...record, ...(owner === undefined ? {} : { owner }) }),
    )
    return publicCatalog(record)
  }
}

/** Changes a catalog of a kind, once it has been asked. */
function updater(kind: CatalogKind, { owners, catalogs, sealer, ...asking }: MetadataDependencies) {
  return async ({ catalogId, ...changes }: { catalogId: string }, call: Asking) => {
    const current = await catalogs.get(catalogId)
    if (current === undefined) throw new GantryError('NOT_FOUND', `there is no catalog ${catalogId}`)
    const { kind: its }: { readonly kind: string } = current
    if (its !== kind)
      throw new GantryError('NOT_ALLOWED_IN_STATE', `${catalogId} is of kind ${its}, not ${kind}`)
    const of = catalogKinds[kind]
    requireSecretsAgain(of, withoutReplaced(of, current.options, changes), changes)
    const options = { ...withoutReplaced(of, specOf(current, sealer).options, changes), ...changes }
    await requireReachable(
      asking,
      catalogId,
      specWith(kind, options),
      await askerOf({ owners }, call, current),
    )
    const record = await catalogs.update(catalogId, (stored) => {
      // It was asked with the options that were there before; nobody has asked it with others.
      if (!isDeepStrictEqual(stored, current))
        throw new GantryError(
          'CONFLICT',
          `${catalogId} was changed by another request at the same time; try again`,
        )
      return { ...stored, options: sealedOptions(kind, options, sealer) }
    })
    return publicCatalog(record)
  }
}

/** Tries a catalog of a kind, of which nothing is kept. */
function checker(kind: CatalogKind, { owners, ask, requireFilesystem }: MetadataDependencies) {
  return async (options: Record<string, unknown>, call: Asking): Promise<CatalogCheck> => {
    const spec = specWith(kind, options)
    await requireFilesystem(spec.options.fileSystemId)
    return checked(spec, await askerOf({ owners }, call), ask)
  }
}

/** What came of a check; a catalog that does not answer in time is not reached. */
async function checked(
  spec: CatalogSpec,
  asker: Asker,
  ask: MetadataDependencies['ask'],
): Promise<CatalogCheck> {
  if (isKeptOnly(spec.kind)) return checkOfKeptOnly(spec.kind)
  try {
    const { checks } = await ask('check', spec, {}, asker)
    return { ok: checks.every(({ result }) => result !== 'no'), checks }
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    return { ok: false, checks: [{ check: 'reach', result: 'no', detail: error.message }] }
  }
}

/** Throws GantryError where options do not go together, or the catalog does not answer; one that is only kept is not asked. */
async function requireReachable(
  { ask, requireFilesystem }: Pick<MetadataDependencies, 'ask' | 'requireFilesystem'>,
  catalogId: string,
  spec: CatalogSpec,
  asker: Asker,
): Promise<void> {
  const { kind, options } = spec
  const of: KindOfOptions = catalogKinds[kind]
  if (of.alternatives?.includes(onePlaceOfData) && onePlaceOfData.every((place) => place in options))
    throw notAccepted('defaultFsOverride', 'cannot be combined with fileSystemId; remove one of them')
  requireOptions(kind, options)
  await requireFilesystem(options.fileSystemId)
  if (isKeptOnly(kind)) return
  try {
    await ask('probe', spec, {}, asker)
  } catch (error) {
    throw catalogFailure(error, catalogId)
  }
}

/** What a failure of a catalog means to the caller. */
function catalogFailure(error: unknown, catalogId: string): unknown {
  if (!(error instanceof StoreError)) return error
  const { failure, message } = error
  const isAway = failure === 'unreachable' || failure === 'throttled'
  const code: ErrorCode = failure === 'gone' ? 'NOT_FOUND' : isAway ? 'STORE_UNREACHABLE' : 'STORE_REFUSED'
  return new GantryError(code, `${catalogId}: ${message}`, { cause: error, details: { failure } })
}
