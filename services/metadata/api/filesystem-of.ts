import type { Sealer } from '../../../broker/identity/seal.ts'
import { call } from '../../../broker/rpc/client.ts'
import type { NatsConnection } from '../../../broker/rpc/connection.ts'
import { filesystemKinds } from '../../../subjects/filesystems/kinds.ts'
import { filesystemsInternal } from '../../../subjects/filesystems/internal.ts'
import { isGantryError, notAccepted } from '../../../subjects/kit/errors.ts'
import { catalogKinds, type CatalogSpec } from '../../../subjects/metadata/kinds.ts'
import { openSecrets } from '../../drivers/contract/secrets.ts'

/** A filesystem as it is now, its secrets sealed. Throws GantryError NOT_ACCEPTED where there is none of that name. */
export async function filesystemOf(connection: NatsConnection, fileSystemId: string) {
  try {
    return await call(connection, filesystemsInternal.resolve, { fileSystemId })
  } catch (error) {
    if (!isGantryError(error, 'NOT_FOUND')) throw error
    throw notAccepted('fileSystemId', `must be an existing filesystem: ${error.message}`, error)
  }
}

/**
 * A catalog with the filesystem that its kind opens, as that is now. Its secrets are in the clear: this is never stored.
 * Throws GantryError NOT_ACCEPTED where there is no such filesystem, and where an agent would get its secrets: whoever names
 * the agent need not be who may use them elsewhere.
 */
export async function withFilesystem(
  spec: CatalogSpec,
  { connection, sealer }: { readonly connection: NatsConnection; readonly sealer: Sealer },
): Promise<CatalogSpec> {
  const { fileSystemId } = spec.options
  if (!('opensFilesystem' in catalogKinds[spec.kind]) || fileSystemId === undefined) return spec
  const { kind, options } = await filesystemOf(connection, fileSystemId)
  const secrets = filesystemKinds[kind].secrets.filter((name) => options[name] !== undefined)
  if ('agent' in spec.options && secrets.length > 0)
    throw notAccepted(
      'agent',
      `cannot be used with filesystem ${fileSystemId}, because its secrets (${secrets.join(', ')}) would be sent to the agent: put the documents into a folder or a store without secrets, or create the catalog without agent to reach the store from the host where Gantry runs`,
    )
  return { ...spec, filesystem: openSecrets(kind, options, sealer) }
}
