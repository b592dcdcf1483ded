import type { CatalogCheck } from '../../../subjects/metadata/catalogs.ts'
import { StoreError } from '../../drivers/contract/store-error.ts'
import type { Catalog } from './contract/catalog.ts'

type Line = CatalogCheck['checks'][number]

/** Databases that are looked through for a table that can be read. */
const databasesTried = 20

/** Tries what a migration needs of a catalog; nothing is changed there. Throws the signal's reason alone. */
export async function checkCatalog(catalog: Catalog, signal: AbortSignal): Promise<Line[]> {
  const lines: Line[] = []
  const tried = async (
    check: Line['check'],
    attempt: () => Promise<Omit<Line, 'check'>>,
  ): Promise<boolean> => {
    const isBlocked = lines.some(({ result }) => result === 'no')
    const line: Omit<Line, 'check'> = isBlocked
      ? { result: 'untried', detail: 'an earlier check failed' }
      : await attempt().catch((error: unknown): Omit<Line, 'check'> => {
          if (!(error instanceof StoreError)) throw error
          return { result: 'no', detail: error.message }
        })
    lines.push({ check, ...line })
    return line.result === 'yes'
  }
  await tried('reach', async () => {
    await catalog.probe(signal)
    const version = await catalog.version(signal)
    return { result: 'yes', ...(version !== undefined && { detail: `version ${version}` }) }
  })
  let databases: readonly string[] = []
  await tried('list', async () => {
    databases = await catalog.databases(signal)
    return { result: 'yes', detail: databases.length === 1 ? '1 database' : `${databases.length} databases` }
  })
  await tried('read', async () => {
    for (const database of databases.slice(0, databasesTried)) {
      const [table] = await catalog.tables(database, signal)
      if (table === undefined) continue
      const read = await catalog.table(database, table.name, signal)
      if (read !== undefined) return { result: 'yes', detail: `table ${database}.${table.name}` }
    }
    return { result: 'untried', detail: 'there is no table' }
  })
  await tried('write', async () => ({
    result: 'untried',
    detail: 'checks do not change anything; the first write shows whether it is allowed',
  }))
  return lines
}
