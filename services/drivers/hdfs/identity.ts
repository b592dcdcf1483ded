import type { hdfsProperties } from '../../../subjects/filesystems/hdfs-properties.ts'
import type { FilesystemOptions } from '../../../subjects/filesystems/kinds.ts'
import { notAccepted } from '../../../subjects/kit/errors.ts'
import type { PropertyValues } from '../contract/properties.ts'
import type { Identity } from './client.ts'
import { negotiateToken } from './kerberos/negotiate.ts'

/** The superuser of most clusters. */
const defaultUser = 'hdfs'

/** As all keytabs begin: the version of Kerberos, and of their format, which is 1 or 2. */
const isKeytab = ([version, format]: Buffer): boolean => version === 5 && (format === 1 || format === 2)

/** Whoever asks, as the options say. Throws GantryError NOT_ACCEPTED for options that do not go together. */
export function identityOf(
  { user, kerberosPrincipal: principal, kerberosKeytab }: FilesystemOptions<'hdfs'>,
  property: PropertyValues<typeof hdfsProperties>,
): Identity {
  const doas = property('gantry.hdfs.doas')
  const proxied = doas === '' ? {} : { doas }
  const pattern = property('dfs.web.authentication.kerberos.principal')
  if (principal === undefined && kerberosKeytab === undefined)
    return { parameters: { 'user.name': user ?? defaultUser, ...proxied } }
  if (principal === undefined)
    throw notAccepted('kerberosPrincipal', 'is missing: give the principal that kerberosKeytab has keys of')
  if (kerberosKeytab === undefined)
    throw notAccepted('kerberosKeytab', 'is missing: give the keytab of kerberosPrincipal')
  if (user !== undefined)
    throw notAccepted(
      'user',
      'is given besides kerberosPrincipal, which says who asks: leave one of them out',
    )
  const keytab = Buffer.from(kerberosKeytab, 'base64')
  if (!isKeytab(keytab))
    throw notAccepted('kerberosKeytab', 'is no keytab: give the contents of the file in base64')
  return {
    parameters: proxied,
    negotiate: ({ host }) => negotiateToken({ principal, keytab }, serviceAt(host, pattern)),
  }
}

/** What Hadoop has in place of the host's name in the principals of its services. */
const hostPlace = '_HOST'

/** @param pattern empty, or `*`, where the realm is as `krb5.conf` says */
const serviceAt = (host: string, pattern: string): string =>
  pattern === '' || pattern === '*' ? `HTTP@${host}` : pattern.replace(hostPlace, host)
