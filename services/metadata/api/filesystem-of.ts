import type { Sealer } from '../../../broker/identity/seal.ts'
import { call } from '../../../broker/rpc/client.ts'
import type { NatsConnection } from '../../../broker/rpc/connection.ts'
import { filesystemsInternal } from '../../../subjects/filesystems/internal.ts'
import { isGantryError, notAccepted } from '../../../subjects/kit/errors.ts'
import { catalogKinds, type CatalogSpec } from '../../../subjects/metadata/kinds.ts'
import { openSecrets } from '../../drivers/contract/secrets.ts'

/**
 * A catalog with the filesystem that its kind opens, as that is now. Its secrets are in the clear: this is never stored.
 * Throws GantryError NOT_ACCEPTED where there is no such filesystem.
 */
export async function withFilesystem(
  spec: CatalogSpec,
  { connection, sealer }: { readonly connection: NatsConnection; readonly sealer: Sealer },
): Promise<CatalogSpec> {
  const { fileSystemId } = spec.options
  if (!('opensFilesystem' in catalogKinds[spec.kind]) || fileSystemId === undefined) return spec
  try {
    const { kind, options } = await call(connection, filesystemsInternal.resolve, { fileSystemId })
    return { ...spec, filesystem: openSecrets(kind, options, sealer) }
  } catch (error) {
    if (!isGantryError(error, 'NOT_FOUND')) throw error
    throw notAccepted('fileSystemId', `must be a filesystem that there is: ${error.message}`, error)
  }
}
