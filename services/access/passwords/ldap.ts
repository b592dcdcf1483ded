import { randomUUID } from 'node:crypto'
import { type Client, type Entry, Filter, ResultCodeError } from 'ldapts'
import type { LdapConfig, UserBySearch } from '../../../config/ldap.ts'
import type { Log } from '../../../broker/common/log.ts'
import { GantryError } from '../../../subjects/kit/errors.ts'
import { withDirectory } from './ldap-connection.ts'
import type { Credentials, PasswordSource } from './password-check.ts'
import type { Person } from '../roles/people.ts'

/** The people of a directory. */
export function ldapSource(config: LdapConfig, log: Log): PasswordSource {
  const verify = ({ user }: LdapConfig, credentials: Credentials) =>
    'dnPattern' in user
      ? verifyByPattern(config, user.dnPattern, credentials)
      : verifyBySearch(config, user, credentials)
  return {
    verify: async (credentials) => {
      try {
        return await verify(config, credentials)
      } catch (err) {
        log.error({ err, url: config.url }, 'The directory could not be queried to check a password.')
        throw new GantryError('UNAVAILABLE', 'the directory server does not respond; try again later', {
          cause: err,
        })
      }
    },
    close: () => undefined,
  }
}

/** The user's own connection finds out all else. */
function verifyByPattern(
  config: LdapConfig,
  pattern: string,
  { userName, password }: Credentials,
): Promise<Person | undefined> {
  const dn = pattern.replaceAll('{0}', () => escapeDn(userName))
  return withDirectory(config, async (directory) => {
    if (!(await isTheirs(directory, dn, password))) return undefined
    const entry = await onlyEntry(directory, dn, { scope: 'base' }, config)
    if (entry === undefined) throw new Error(`${dn} may not read its own entry`)
    return personOf(directory, entry, config)
  })
}

/** The manager looks the user up; whether the password is right, a connection of its own finds out. */
function verifyBySearch(
  config: LdapConfig,
  { base, filter, managerDn, managerPassword }: UserBySearch,
  { userName, password }: Credentials,
): Promise<Person | undefined> {
  return withDirectory(config, async (directory) => {
    await directory.bind(managerDn, managerPassword)
    const itsFilter = filter.replaceAll('{0}', () => Filter.escape(userName))
    const entry = await onlyEntry(directory, base, { scope: 'sub', filter: itsFilter }, config)
    // Nobody has this name; it is tried all the same, so that it takes as long as a wrong password.
    const dn = entry?.dn ?? `cn=${randomUUID()},${base}`
    const isRight = await withDirectory(config, (own) => isTheirs(own, dn, password))
    return isRight && entry !== undefined ? personOf(directory, entry, config) : undefined
  })
}

/**
 * What directories answer about the user and the password, and not about themselves: wrong, none set, locked, disabled,
 * expired, no such entry, a name that cannot be one.
 */
const refusals = new Set([19, 32, 34, 48, 49, 50, 53])

async function isTheirs(directory: Client, dn: string, password: string): Promise<boolean> {
  try {
    await directory.bind(dn, password)
    return true
  } catch (error) {
    if (error instanceof ResultCodeError && refusals.has(error.code)) return false
    throw error
  }
}

/** Attributes that are read of a person beside the name. */
const displayName = 'cn'
const mail = 'mail'

/** The one entry that a search finds; undefined when there is none, and when two people might be meant. */
async function onlyEntry(
  directory: Client,
  base: string,
  search: { scope: 'base' | 'sub'; filter?: string },
  { nameAttribute }: LdapConfig,
): Promise<Entry | undefined> {
  const { searchEntries } = await directory.search(base, {
    ...search,
    attributes: [nameAttribute, displayName, mail],
  })
  return searchEntries.length === 1 ? searchEntries[0] : undefined
}

async function personOf(directory: Client, entry: Entry, config: LdapConfig): Promise<Person> {
  // Of several names always the same one, whichever was given.
  const [subject] = textsOf(entry, config.nameAttribute).toSorted()
  if (subject === undefined) {
    throw new Error(`${entry.dn} has no ${config.nameAttribute}: set security.ldap.user-name-attribute`)
  }
  return {
    source: 'ldap',
    subject,
    name: textsOf(entry, displayName)[0],
    email: textsOf(entry, mail)[0],
    groups: await groupsOf(directory, entry.dn, config),
  }
}

/** The groups of a user, each by its distinguished name and by its common one. */
async function groupsOf(directory: Client, dn: string, { groups }: LdapConfig): Promise<string[]> {
  if (groups === undefined) return []
  const filter = groups.filter.replaceAll('{0}', () => Filter.escape(dn))
  const { searchEntries } = await directory.search(groups.base, {
    scope: 'sub',
    filter,
    attributes: [displayName],
    // A directory names only some hundreds of entries at once.
    paged: true,
  })
  return [...new Set(searchEntries.flatMap((entry) => [entry.dn, ...textsOf(entry, displayName)]))]
}

/** The values of an attribute; directories choose upper and lower case of its name. */
function textsOf(entry: Entry, attribute: string): string[] {
  const name = Object.keys(entry).find((one) => one.toLowerCase() === attribute.toLowerCase())
  const values = name === undefined ? [] : [entry[name]].flat()
  return values.filter((value) => typeof value === 'string' && value !== '') as string[]
}

const plainInDn = /[A-Za-z0-9._@-]/

/** A value in a distinguished name (RFC 4514): every byte that could mean something there is written in hexadecimal. */
function escapeDn(value: string): string {
  let text = ''
  for (const char of value) {
    if (plainInDn.test(char)) text += char
    else for (const byte of Buffer.from(char)) text += `\\${byte.toString(16).padStart(2, '0')}`
  }
  return text
}
