import type { CatalogCheck } from '../../../subjects/metadata/catalogs.ts'
import { GantryError } from '../../../subjects/kit/errors.ts'
import type { CatalogSpec } from '../../../subjects/metadata/kinds.ts'
import type {
  Database,
  Partition,
  Setting,
  Table,
  TableIndex,
  TableSummary,
} from '../../../subjects/metadata/objects.ts'
import { checkCatalog } from './check.ts'
import { type Catalog, partitionsAtOnce, type TableName } from './contract/catalog.ts'
import { type CatalogOpening, openCatalog } from './index.ts'
import { matching } from './name-pattern.ts'
import { valuesIn, valuesKey } from './partition-names.ts'

/** Which of many, in the order of their names. */
export interface NamePage {
  readonly like: string | undefined
  /** The last of the page before. */
  readonly after: string | undefined
  readonly limit: number
}

/** What is asked for, and what comes, by the kind of the question. Plain data: it crosses to a worker thread and back. */
export interface CatalogQuestions {
  probe: { readonly asked: object; readonly answer: { readonly isThere: true } }
  check: { readonly asked: object; readonly answer: { readonly checks: CatalogCheck['checks'] } }
  databases: { readonly asked: NamePage; readonly answer: { readonly names: readonly string[] } }
  database: {
    readonly asked: { readonly database: string }
    readonly answer: { readonly database: Database | undefined }
  }
  tables: {
    readonly asked: NamePage & { readonly database: string }
    readonly answer: { readonly tables: readonly TableSummary[] }
  }
  table: { readonly asked: TableName; readonly answer: { readonly table: Table | undefined } }
  partitions: {
    readonly asked: NamePage & TableName
    readonly answer: { readonly partitions: readonly NamedPartition[] }
  }
  partition: {
    readonly asked: TableName & { readonly partition: string }
    readonly answer: { readonly partition: Partition | undefined }
  }
  indexes: { readonly asked: TableName; readonly answer: { readonly indexes: readonly TableIndex[] } }
  settings: {
    /** One by its name, or those that matter to migrations. */
    readonly asked: { readonly parameter: string | undefined; readonly like: string | undefined }
    readonly answer: { readonly settings: readonly Setting[] }
  }
}

export interface NamedPartition {
  readonly name: string
  readonly location?: string
  readonly createdMs?: number
}

export type QuestionKind = keyof CatalogQuestions
export type CatalogQuestion = {
  [K in QuestionKind]: { readonly kind: K; readonly spec: CatalogSpec } & CatalogQuestions[K]['asked']
}[QuestionKind]
export type CatalogAnswer = CatalogQuestions[QuestionKind]['answer']

/** Asks a catalog. Throws GantryError NOT_ACCEPTED for its options, StoreError. */
export async function answer(question: CatalogQuestion, opening?: CatalogOpening): Promise<CatalogAnswer> {
  const catalog = await openCatalog(question.spec, opening)
  // Nothing ends the work from within: a thread whose answer nobody awaits is ended as a whole.
  const { signal } = new AbortController()
  try {
    return await answerBy(catalog, question, signal)
  } finally {
    catalog.close()
  }
}

async function answerBy(
  catalog: Catalog,
  question: CatalogQuestion,
  signal: AbortSignal,
): Promise<CatalogAnswer> {
  switch (question.kind) {
    case 'probe':
      await catalog.probe(signal)
      return { isThere: true }
    case 'check':
      return { checks: await checkCatalog(catalog, signal) }
    case 'databases':
      return { names: pageOf(await catalog.databases(signal), question) }
    case 'database':
      return { database: await catalog.database(question.database, signal) }
    case 'tables': {
      const tables = await catalog.tables(question.database, signal)
      const names = new Set(
        pageOf(
          tables.map(({ name }) => name),
          question,
        ),
      )
      return { tables: tables.filter(({ name }) => names.has(name)) }
    }
    case 'table':
      return { table: await catalog.table(question.database, question.name, signal) }
    case 'partitions':
      return { partitions: await partitionsOf(catalog, question, signal) }
    case 'partition': {
      const [partition] = await catalog.partitions(question, [question.partition], signal)
      return { partition }
    }
    case 'indexes': {
      const indexes = await catalog.indexes?.of(question, signal)
      if (indexes === undefined) throw unsupported(catalog, 'indexes')
      return { indexes }
    }
    case 'settings':
      return { settings: await settingsOf(catalog, question, signal) }
  }
}

async function settingsOf(
  catalog: Catalog,
  { parameter, like }: CatalogQuestions['settings']['asked'],
  signal: AbortSignal,
): Promise<Setting[]> {
  const { settings } = catalog
  if (settings === undefined) throw unsupported(catalog, 'settings')
  const isWanted = like === undefined ? () => true : matching(like)
  const found: Setting[] = []
  for (const name of (parameter === undefined ? settings.names : [parameter]).filter(isWanted)) {
    const value = await settings.value(name, signal)
    found.push({ name, ...(value !== undefined && { value }) })
  }
  return found
}

const unsupported = ({ place }: Catalog, what: string): GantryError =>
  new GantryError('UNSUPPORTED', `${place} does not provide ${what}`)

async function partitionsOf(
  catalog: Catalog,
  { database, name, ...page }: NamePage & TableName,
  signal: AbortSignal,
): Promise<NamedPartition[]> {
  const names = pageOf(await catalog.partitionNames({ database, name }, signal), page)
  const named: NamedPartition[] = []
  for (let at = 0; at < names.length; at += partitionsAtOnce) {
    const batch = names.slice(at, at + partitionsAtOnce)
    const byValues = new Map(
      (await catalog.partitions({ database, name }, batch, signal)).map((one) => [
        valuesKey(one.values),
        one,
      ]),
    )
    for (const its of batch) {
      const found = byValues.get(valuesKey(valuesIn(its)))
      // Gone since its name was told.
      if (found === undefined) continue
      const { createdMs, storage } = found
      const { location } = storage
      named.push({
        name: its,
        ...(location !== undefined && { location }),
        ...(createdMs !== undefined && { createdMs }),
      })
    }
  }
  return named
}

const pageOf = (names: readonly string[], { like, after, limit }: NamePage): readonly string[] => {
  const isWanted = like === undefined ? () => true : matching(like)
  const last = after === undefined ? undefined : Buffer.from(after)
  const found: string[] = []
  for (const name of names) {
    if (found.length === limit) break
    if ((last === undefined || Buffer.compare(Buffer.from(name), last) > 0) && isWanted(name))
      found.push(name)
  }
  return found
}
