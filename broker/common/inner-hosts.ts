import { product } from '../../subjects/kit/names.ts'
import { BlockList, isIP } from 'node:net'
import { notAccepted } from '../../subjects/kit/errors.ts'

/** The command with which an administrator allows inner hosts. */
export const setStoreHosts = `${product} settings put --store-hosts …`

/** Hosts of this machine and of inner networks that an administrator has allowed. */
export interface InnerHosts {
  /** Names and addresses, each maybe with a port, as `hostAt` writes them. */
  readonly names: ReadonlySet<string>
  readonly networks: BlockList
}

/** A name or address, maybe with a port, as it is in a URL; an address alone without brackets. Undefined for anything else. */
export function hostOf(text: string): string | undefined {
  const url = URL.parse(`http://${text.includes('::') && !text.startsWith('[') ? `[${text}]` : text}`)
  if (url === null || `${url.origin}/` !== url.href) return undefined
  return url.port === '' ? url.hostname.replace(/^\[|\]$/g, '') : url.host
}

const isPort80 = /^(?:[^:]+|\[.+\]):0*80$/

/** A host with a port, as it is in a URL. */
export const hostAt = (host: string, port: number): string =>
  `${host.includes(':') ? `[${host}]` : host}:${port}`

/** A network such as `10.1.0.0/16`; undefined for anything else. */
function networkOf(text: string) {
  const [, address = '', prefix = ''] = /^([^/]+)\/(\d{1,3})$/.exec(text) ?? []
  const version = isIP(address)
  if (version === 0 || Number(prefix) > (version === 4 ? 32 : 128)) return undefined
  return { address, prefix: Number(prefix), family: version === 4 ? 'ipv4' : 'ipv6' } as const
}

/** @param texts of `requireHosts`; others allow nothing */
export function innerHosts(texts: readonly string[]): InnerHosts {
  const networks = new BlockList()
  const names = new Set<string>()
  for (const text of texts) {
    const network = networkOf(text)
    const host = hostOf(text)
    if (network !== undefined) networks.addSubnet(network.address, network.prefix, network.family)
    // URLs leave out the port of HTTP; here it is a port like others.
    else if (host !== undefined) names.add(isPort80.test(text) ? hostAt(host, 80) : host)
  }
  return { names, networks }
}

/** @throws GantryError NOT_ACCEPTED for what is neither a host nor a network */
export function requireHosts(texts: readonly string[], field: string): void {
  for (const [index, text] of texts.entries()) {
    if (networkOf(text) !== undefined || hostOf(text) !== undefined) continue
    const problem = 'must be a host, host:port or network, such as 127.0.0.1:10000 or 10.1.0.0/16'
    throw notAccepted(`${field}[${index}]`, problem)
  }
}
