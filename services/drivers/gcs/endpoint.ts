import { endpointOf } from '../http/client-credentials.ts'
import type { StoreEndpoint } from '../http/transport.ts'

export const defaultEndpoint = 'storage.googleapis.com'

/** @param endpoint a host name, with a scheme and a port where it has them */
export function gcsEndpoint(endpoint = defaultEndpoint): StoreEndpoint {
  return endpointOf(new URL(endpoint.includes('://') ? endpoint : `https://${endpoint}`))
}

/** Whether a host is one of Google's that the service is at, of a region too. */
export const isOfGoogle = (host: string): boolean =>
  /^(?:www|storage(?:[.-][a-z0-9.-]+)?)\.googleapis\.com$/.test(host)
