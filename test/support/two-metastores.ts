import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HiveCatalog } from '../../services/metadata/catalogs/hive/hive.ts'
import { settings } from '../../subjects/access/settings.ts'
import { loopback } from '../../subjects/kit/names.ts'
import { metadataCatalogs } from '../../subjects/metadata/catalogs.ts'
import { type HiveMetastore, type MetastoreRelease, startMetastore } from './hive-metastore.ts'
import { startTestPlatform, type TestPlatform } from './platform.ts'

/** A whole platform between two metastores, its catalogs `here` and `there`. */
export interface TwoMetastores extends AsyncDisposable {
  readonly platform: TestPlatform
  readonly here: HiveMetastore
  readonly there: HiveMetastore
  /** Both as they are read directly. */
  readonly source: HiveCatalog
  readonly target: HiveCatalog
  /** Folder for the files of tables; those at the target are in its folder `target`. */
  readonly lake: string
}

export async function startTwoMetastores(
  from: MetastoreRelease,
  to: MetastoreRelease,
): Promise<TwoMetastores> {
  const lake = mkdtempSync(join(tmpdir(), 'gantry-lake-'))
  const [platform, here, there] = await Promise.all([
    startTestPlatform(),
    startMetastore(from),
    startMetastore(to),
  ])
  await platform.call(settings.put, { storeHosts: [loopback] })
  await platform.call(metadataCatalogs['create-hive'], { catalogId: 'here', ...here.options })
  await platform.call(metadataCatalogs['create-hive'], {
    catalogId: 'there',
    ...there.options,
    defaultFsOverride: `file://${lake}/target`,
  })
  const [source, target] = [new HiveCatalog(here.options), new HiveCatalog(there.options)]
  return {
    platform,
    here,
    there,
    source,
    target,
    lake,
    [Symbol.asyncDispose]: async () => {
      source.close()
      target.close()
      await platform[Symbol.asyncDispose]()
      await here[Symbol.asyncDispose]()
      await there[Symbol.asyncDispose]()
      rmSync(lake, { recursive: true, force: true })
    },
  }
}
