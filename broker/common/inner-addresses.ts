import { lookup as lookupName } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'

/**
 * Addresses of this host and of inner networks, with services that trust whoever reaches them: the migrator without access
 * control, the metadata of clouds. Special ranges of the IANA registries (RFC 6890).
 */
const inner = new BlockList()
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  // In no registry: what Azure has beside each of its machines.
  ['168.63.129.16', 32],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['224.0.0.0', 3],
] as const)
  inner.addSubnet(network, prefix, 'ipv4')
for (const [network, prefix] of [
  // Unspecified, loopback, and addresses of IPv4 in another notation than the mapped one, which the list knows itself.
  ['::', 96],
  ['::ffff:0:0:0', 96],
  ['2001::', 32],
  ['64:ff9b::', 96],
  ['64:ff9b:1::', 48],
  ['2002::', 16],
  ['fc00::', 7],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
] as const)
  inner.addSubnet(network, prefix, 'ipv6')

/**
 * Where clouds tell a machine its credentials: link-local addresses, and those that Amazon and Google (IPv6), Alibaba, Oracle
 * and Azure have beside them.
 */
const metadata = new BlockList()
metadata.addSubnet('169.254.0.0', 16, 'ipv4')
metadata.addAddress('100.100.100.200', 'ipv4')
metadata.addAddress('192.0.0.192', 'ipv4')
metadata.addAddress('168.63.129.16', 'ipv4')
metadata.addSubnet('fe80::', 10, 'ipv6')
metadata.addSubnet('fd00:ec2::', 32, 'ipv6')
metadata.addAddress('fd20:ce::254', 'ipv6')
metadata.addSubnet('64:ff9b::a9fe:0', 112, 'ipv6')

const familyOf = (address: string) => (isIP(address) === 6 ? 'ipv6' : 'ipv4')

/** Whether an address is one where clouds tell a machine its credentials; no store is there. */
export const isMetadata = (address: string): boolean => metadata.check(address, familyOf(address))

export const isInner = (address: string): boolean => inner.check(address, familyOf(address))

/** Why nothing is sent there; no further attempt will change it. */
export class InnerAddressError extends Error {
  /** @param fix who allows it, and where */
  constructor(host: string, fix: string) {
    super(`${host} is an address on this host or in a private network: ${fix}`)
  }
}

/** A host of a URL without the brackets of IPv6. */
export const bareHost = ({ hostname }: Pick<URL, 'hostname'>): string => hostname.replace(/^\[|\]$/g, '')

/**
 * Resolves names, and refuses what leads to inner networks: it is the connection that is made to the address that was looked
 * at, so that a name which changes between the look and the call helps nobody.
 * @param isAllowed of an inner address
 */
export const outerLookup =
  (
    isAllowed: (address: string) => boolean,
    refused: (hostname: string) => InnerAddressError,
  ): LookupFunction =>
  (hostname, options, callback) => {
    lookupName(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, '')
      if (addresses.some(({ address }) => isInner(address) && !isAllowed(address)))
        return callback(refused(hostname), '')
      if (options.all === true) return callback(null, addresses)
      const [first] = addresses
      callback(null, first!.address, first!.family)
    })
  }
