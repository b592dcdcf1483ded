import type { hdfsProperties } from '../../../subjects/filesystems/hdfs-properties.ts'
import type { FilesystemOptions } from '../../../subjects/filesystems/kinds.ts'
import type { PropertyValues } from '../contract/properties.ts'
import type { Identity } from './client.ts'
import { kerberosCredentials, serviceAt } from '../kerberos/identity.ts'
import { negotiateToken } from '../kerberos/negotiate.ts'

/** The superuser of most clusters. */
const defaultUser = 'hdfs'

/** Whoever asks, as the options say. Throws GantryError NOT_ACCEPTED for options that do not go together. */
export function identityOf(
  options: FilesystemOptions<'hdfs'>,
  property: PropertyValues<typeof hdfsProperties>,
): Identity {
  const doas = property('gantry.hdfs.doas')
  const proxied = doas === '' ? {} : { doas }
  const pattern = property('dfs.web.authentication.kerberos.principal')
  const credentials = kerberosCredentials(options)
  if (credentials === undefined)
    return { parameters: { 'user.name': options.user ?? defaultUser, ...proxied } }
  return {
    parameters: proxied,
    negotiate: ({ host }) => negotiateToken(credentials, serviceAt(host, pattern, 'HTTP')),
  }
}
