import { GcsDriver } from '../../services/drivers/gcs/gcs.ts'
import type { FilesystemOptions } from '../../subjects/filesystems/kinds.ts'
import { type GcsServer, startGcsServer } from './gcs-server.ts'
import { whyMissing } from './provide.ts'
import type { PubSubEmulator } from './pubsub-emulator.ts'
import { testUnless } from './unless.ts'

export type { GcsServer } from './gcs-server.ts'

/** Why there is no server of Cloud Storage's protocol here; undefined where there is one. */
export const noGcs = whyMissing('FAKE_GCS_SERVER')
/** A test with fake-gcs-server. */
export const gcsTest = (name: string, work: () => Promise<void>, timeoutMs?: number): void =>
  testUnless(noGcs, name, work, timeoutMs)

/** @param pubSub topic that it tells of changes */
export const startGcs = (pubSub?: PubSubEmulator): Promise<GcsServer> =>
  startGcsServer(process.env['FAKE_GCS_SERVER']!, { pubSub })

/** A driver that is closed with its scope. */
export function openGcs(options: FilesystemOptions<'gcs'>): GcsDriver & AsyncDisposable {
  const driver = new GcsDriver(options)
  return Object.assign(driver, { [Symbol.asyncDispose]: () => driver.close() })
}
