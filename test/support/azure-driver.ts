import { Adls2Driver } from '../../services/drivers/adls2/adls2.ts'
import { BlobClient } from '../../services/drivers/azure-blob/client.ts'
import type { BlobEndpoint } from '../../services/drivers/azure-blob/endpoint.ts'
import { SharedKeySigner } from '../../services/drivers/azure-blob/signing.ts'
import type { Azurite } from './azurite.ts'

/** The options of a filesystem in a container of a test's Azurite. */
export const azuriteOptions = ({ account, key, endpoint }: Azurite, containerName: string) => ({
  accountName: account,
  sharedKey: key,
  containerName,
  endpoint,
  insecure: true,
})

/** A driver that is closed with its scope. */
export function openAzure(
  options: ReturnType<typeof azuriteOptions>,
  additionalProperties: Record<string, string> = {},
): Adls2Driver & AsyncDisposable {
  const driver = new Adls2Driver({ ...options, additionalProperties })
  return Object.assign(driver, { [Symbol.asyncDispose]: () => driver.close() })
}

/** The client below the driver, impatient: two retries, within milliseconds. */
export function openClient(endpoint: BlobEndpoint, credentials: { accountName: string; sharedKey: string }) {
  const signer = new SharedKeySigner(credentials.accountName, credentials.sharedKey)
  const client = new BlobClient(endpoint, signer, {
    connectTimeoutMs: 2_000,
    idleTimeoutMs: 500,
    connections: 4,
    retries: 2,
    minBackoffMs: 1,
    maxBackoffMs: 2_000,
  })
  return Object.assign(client, { [Symbol.dispose]: () => client.close() })
}
