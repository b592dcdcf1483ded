import { notAccepted } from '../../../subjects/kit/errors.ts'
import type { Credentials } from './security-context.ts'

/** As all keytabs begin: the version of Kerberos, and of their format, which is 1 or 2. */
const isKeytab = ([version, format]: Buffer): boolean => version === 5 && (format === 1 || format === 2)

/** Options that say who asks. */
interface Options {
  readonly user?: string | undefined
  readonly kerberosPrincipal?: string | undefined
  readonly kerberosKeytab?: string | undefined
}

/** Undefined where nothing is said of Kerberos. Throws GantryError NOT_ACCEPTED for options that do not go together. */
export function kerberosCredentials({
  user,
  kerberosPrincipal: principal,
  kerberosKeytab,
}: Options): Credentials | undefined {
  if (principal === undefined && kerberosKeytab === undefined) return undefined
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
  return { principal, keytab }
}

/** What Hadoop has in place of the host's name in the principals of its services. */
const hostPlace = '_HOST'

/**
 * The principal of a service on a host.
 * @param pattern as Hadoop has it; empty, or `*`, where the realm is as `krb5.conf` says
 * @param service as which it is known there
 */
export const serviceAt = (host: string, pattern: string, service: string): string =>
  pattern === '' || pattern === '*' ? `${service}@${host}` : pattern.replace(hostPlace, host)
