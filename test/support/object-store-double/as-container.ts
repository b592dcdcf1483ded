import type { FilesystemOptions } from '../../../subjects/filesystems/kinds.ts'
import type { StoreKind } from '../../../services/drivers/index.ts'
import { ObjectStoreDoubleDriver } from './driver.ts'

/** The double in the place of containers in Azure, as contracts have no options for it: the account is the store, and the container a bucket. */
const asContainer: StoreKind<'adls2-shared-key'> = {
  kind: 'adls2-shared-key',
  defaults: {},
  exclusions: [],
  restrictions: [],
  uris: ({ accountName, containerName }) => [`abfss://${containerName}@${accountName}.double`],
  open: async ({ accountName, containerName }: FilesystemOptions<'adls2-shared-key'>) =>
    new ObjectStoreDoubleDriver({ store: accountName, bucket: containerName }),
}
export default asContainer
