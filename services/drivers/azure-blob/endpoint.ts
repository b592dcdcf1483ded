import { GantryError } from '../../../subjects/kit/errors.ts'

/** Where the requests of one container go. */
export interface BlobEndpoint {
  readonly secure: boolean
  /** Without brackets or port. */
  readonly host: string
  readonly port: number
  /** `/container`, or `/account/container` where the account is not part of the host name. */
  readonly containerPath: string
}

export const defaultEndpoint = 'dfs.core.windows.net'

/** Domains of Azure's clouds (public, China, US government, Germany) and of its DNS zone endpoints. */
const azureDomains = [
  'core.windows.net',
  'core.chinacloudapi.cn',
  'core.usgovcloudapi.net',
  'core.cloudapi.de',
  'storage.azure.net',
]

/** Whether a host is one of Azure's clouds. */
export const isOfAzure = (host: string): boolean => azureDomains.some((domain) => host.endsWith(`.${domain}`))

/**
 * The Blob endpoint of a container. Account keys work on it whatever the account's namespace, so `dfs.` host names become
 * `blob.`. Azure's own endpoints take the account into the host name, whether `endpoint` has it already or not; so does
 * any other host that begins with the account's name; all others (emulators, gateways) get it as the first segment.
 * Throws GantryError NOT_ACCEPTED for an endpoint of Azure that belongs to no account or to another one.
 */
export function blobEndpoint(options: {
  readonly accountName: string
  readonly containerName: string
  readonly endpoint?: string
  readonly insecure?: boolean
}): BlobEndpoint {
  const { accountName, containerName, endpoint = defaultEndpoint, insecure = false } = options
  const [name = '', port] = endpoint.toLowerCase().split(':')
  const host = name.replace(/\.$/, '')
  const where = { secure: !insecure, port: port === undefined ? (insecure ? 80 : 443) : Number(port) }
  const domain = azureDomains.find((domain) => host.endsWith(`.${domain}`))
  if (domain !== undefined) {
    return { ...where, host: azureHost(accountName, host, domain), containerPath: `/${containerName}` }
  }
  if (host.startsWith(`${accountName}.`)) {
    return { ...where, host: host.replace('.dfs.', '.blob.'), containerPath: `/${containerName}` }
  }
  return { ...where, host, containerPath: `/${accountName}/${containerName}` }
}

/** The Data Lake endpoint of the same container: another host where the account is part of the host name. */
export const dataLakeEndpoint = (endpoint: BlobEndpoint): BlobEndpoint => ({
  ...endpoint,
  host: endpoint.host.replace('.blob.', '.dfs.'),
})

/** `[account.][z12.|privatelink.]dfs|blob.<domain>`, with the account and `blob` put in. */
function azureHost(account: string, host: string, domain: string): string {
  const labels = host.slice(0, -domain.length - 1).split('.')
  const service = labels.pop()
  const owner = labels.length > 0 && !isZone(labels[0]) ? labels.shift() : account
  if ((service !== 'dfs' && service !== 'blob') || owner !== account || !labels.every(isZone)) {
    throw new GantryError(
      'NOT_ACCEPTED',
      `endpoint ${host} is not the storage endpoint of account ${account}; give dfs.${domain} or ${account}.dfs.${domain}`,
      { details: [{ field: 'endpoint', problem: `is not an endpoint of account ${account}` }] },
    )
  }
  return [account, ...labels, 'blob', domain].join('.')
}

/** DNS zone of an account (`z01` to `z99`) or the label of a private endpoint. */
const isZone = (label: string | undefined) => label !== undefined && /^(?:z\d{1,2}|privatelink)$/.test(label)
