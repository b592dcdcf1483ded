import { X509Certificate } from 'node:crypto'
import type { FilesystemOptions } from '../../../subjects/filesystems/kinds.ts'
import type { hdfsProperties } from '../../../subjects/filesystems/hdfs-properties.ts'
import { notAccepted } from '../../../subjects/kit/errors.ts'
import type { PropertyValues } from '../contract/properties.ts'
import type { StoreEndpoint } from '../http/transport.ts'

/** Where requests to a cluster go. */
export interface ClusterAddress {
  /** A nameservice, or a host, with the port of its web server where another cluster of that host may have the usual one. */
  readonly authority: string
  readonly nameNodes: readonly StoreEndpoint[]
}

const everywhere = '0.0.0.0'

/** Ports of the web server of a name node since Hadoop 3. */
const httpPort = 9870
const httpsPort = 9871

/** The port for HTTP of the name node that has one for HTTPS, of Hadoop 3 and 2: a cluster is the same over both. */
const httpPorts: ReadonlyMap<number, number> = new Map([
  [httpsPort, httpPort],
  [50_470, 50_070],
])

/**
 * The name nodes of a cluster. `hdfs://` names the RPC address, whose port says nothing about that of the web server; of a
 * nameservice the properties have the addresses. Throws GantryError NOT_ACCEPTED for a property that is missing or wrong.
 */
export function clusterAddress(
  options: FilesystemOptions<'hdfs'>,
  property: PropertyValues<typeof hdfsProperties>,
): ClusterAddress {
  const { authority, nameNodes } = addressesOf(options, property)
  const { caCertificate } = options
  if (caCertificate === undefined) return { authority, nameNodes }
  if (nameNodes.some(({ secure }) => !secure))
    throw notAccepted(
      'caCertificate',
      'is given, and nothing goes over TLS: use swebhdfs:// in defaultFS, or dfs.http.policy HTTPS_ONLY',
    )
  requireCertificates(caCertificate)
  return { authority, nameNodes: nameNodes.map((node) => ({ ...node, authorities: caCertificate })) }
}

/** Node takes a text without a certificate, and then trusts nobody. */
function requireCertificates(text: string): void {
  const found = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  if (found.length === 0)
    throw notAccepted('caCertificate', 'has no certificate: give PEM with BEGIN CERTIFICATE')
  try {
    found.map((one) => new X509Certificate(one))
  } catch (cause) {
    throw notAccepted('caCertificate', 'has a certificate that cannot be read: give it as PEM', cause)
  }
}

function addressesOf(
  { defaultFS, additionalProperties = {} }: FilesystemOptions<'hdfs'>,
  property: PropertyValues<typeof hdfsProperties>,
): ClusterAddress {
  const [, scheme = '', authority = ''] = /^(\w+):\/\/([^/]+)\/?$/.exec(defaultFS) ?? []
  const secure = scheme === 'swebhdfs' || property('dfs.http.policy') === 'HTTPS_ONLY'
  const [host = '', port] = authority.split(':')
  const key = `dfs.namenode.${secure ? 'https' : 'http'}-address`
  const usualPort = secure ? httpsPort : httpPort
  const nodes = additionalProperties[`dfs.ha.namenodes.${authority}`]
  if (nodes !== undefined) {
    const nameNodes = nodes
      .split(',')
      .map((node) => node.trim())
      .filter((node) => node !== '')
      .map((node) => endpointOf(`${key}.${authority}.${node}`, additionalProperties, secure))
    if (nameNodes.length === 0)
      throw notAccepted(`additionalProperties.dfs.ha.namenodes.${authority}`, 'names no name node')
    return { authority, nameNodes }
  }
  const text = property(secure ? 'dfs.namenode.https-address' : 'dfs.namenode.http-address')
  if (text !== '') {
    const node = endpointOf(key, { [key]: text }, secure)
    // In the configuration of a name node it is where that listens, which may be everywhere.
    const nameNodes = [node.host === everywhere ? { ...node, host } : node]
    return { authority: named(host, node), nameNodes }
  }
  const isWeb = scheme !== 'hdfs'
  const node = { secure, host, port: isWeb && port !== undefined ? Number(port) : usualPort }
  return { authority: named(host, node), nameNodes: [node] }
}

/** A cluster as its host and its web server tell it from others: `hdfs://` and `webhdfs://` have ports of their own for it. */
function named(host: string, { secure, port }: StoreEndpoint): string {
  const itsPort = (secure ? httpPorts.get(port) : undefined) ?? port
  return itsPort === httpPort ? host.toLowerCase() : `${host.toLowerCase()}:${itsPort}`
}

function endpointOf(
  name: string,
  properties: Readonly<Record<string, string>>,
  secure: boolean,
): StoreEndpoint {
  const text = properties[name]
  const field = `additionalProperties.${name}`
  if (text === undefined) throw notAccepted(field, 'is missing: each name node of dfs.ha.namenodes has one')
  const [, host, port] = /^([A-Za-z0-9._-]+):(\d{1,5})$/.exec(text) ?? []
  if (host === undefined || Number(port) < 1 || Number(port) > 65_535)
    throw notAccepted(field, 'must be a host and a port, such as namenode.example:9870')
  return { secure, host: host.toLowerCase(), port: Number(port) }
}
