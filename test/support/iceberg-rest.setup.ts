import { dirname } from 'node:path'
import { type IcebergRelease, icebergReleases, icebergVariable } from './iceberg-rest.ts'
import { classesOf } from './maven.ts'
import { provide } from './provide.ts'

/** Gets the catalogs that Iceberg's own tests have from Maven Central into the cache folder. */
export async function setup(): Promise<void> {
  for (const release of Object.keys(icebergReleases) as IcebergRelease[])
    await provide(icebergVariable(release), async () =>
      dirname(await classesOf(icebergReleases[release], `Iceberg ${release}`)),
    )
}
