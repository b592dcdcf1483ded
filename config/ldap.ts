import { readFileSync } from 'node:fs'
import { isAbsolute } from 'node:path'
import { isLoopbackName } from '../broker/common/loopback.ts'
import { anyText, type Properties, type PropertyReader, trueOrFalse, wholeNumber } from './properties.ts'

/** A directory, and how people are found in it. `{0}` in a pattern or filter stands for the name that was given. */
export interface LdapConfig {
  readonly type: 'ldap'
  readonly url: string
  readonly startTls: boolean
  /** Certificates, PEM, of the authorities that are trusted in place of the usual ones. */
  readonly ca: string | undefined
  readonly user: UserByPattern | UserBySearch
  /** Attribute whose value is the person's name here, so that all ways to write it are one person. */
  readonly nameAttribute: string
  readonly groups: { readonly base: string; readonly filter: string } | undefined
  /** Files outside of the configuration folder that it was read from, by their properties; absolute paths. */
  readonly files: Readonly<Record<string, string>>
  readonly connectTimeoutMs: number
  /** For one question. */
  readonly timeoutMs: number
}

export interface UserByPattern {
  readonly dnPattern: string
}

export interface UserBySearch {
  readonly base: string
  readonly filter: string
  readonly managerDn: string
  readonly managerPassword: string
}

/** Directories answer in milliseconds; the whole check, of five questions, must end within its 30 s. */
const timeouts = { minMs: 100, maxMs: 5_000, defaultConnectMs: 2_000, defaultMs: 3_000 }

const withName = (meaning: string): PropertyReader<string> => ({
  meaning: `${meaning} with {0} for the user name`,
  read: (text) => (text.includes('{0}') ? text : undefined),
})

const filter = (meaning: string): PropertyReader<string> => ({
  meaning: `a filter in parentheses with ${meaning}`,
  read: (text) => (/^\(.*\{0\}.*\)$/.test(text) ? text : undefined),
})

/** A file that was named, and what is taken of it. */
interface NamedFile {
  readonly path: string
  readonly content: string
}

const certificates: PropertyReader<NamedFile> = {
  meaning: 'the absolute path of a readable file with PEM certificates',
  read: (path) => {
    const content = textOf(path)
    return content?.includes('-----BEGIN CERTIFICATE-----') ? { path, content } : undefined
  },
}

const passwordFile: PropertyReader<NamedFile> = {
  meaning: 'the absolute path of a readable file with the password on its first line',
  read: (path) => {
    const content = textOf(path)?.split(/\r?\n/)[0]
    return content ? { path, content } : undefined
  },
}

export const ldapReaders = {
  'security.ldap.url': {
    meaning: 'ldap://host:port or ldaps://host:port',
    read: (text: string) => (isDirectoryUrl(text) ? text : undefined),
    // Other programs take a user and a password in it.
    secret: true as const,
  },
  'security.ldap.start-tls': trueOrFalse,
  'security.ldap.insecure': trueOrFalse,
  'security.ldap.ca-file': certificates,
  'security.ldap.user-dn-pattern': withName('a distinguished name'),
  'security.ldap.manager-dn': anyText('a distinguished name'),
  'security.ldap.manager-password': { ...anyText('a password'), secret: true as const },
  'security.ldap.manager-password-file': passwordFile,
  'security.ldap.user-search-base': anyText('a distinguished name'),
  'security.ldap.user-search-filter': filter('{0} for the user name'),
  'security.ldap.user-name-attribute': {
    meaning: 'an attribute name',
    read: (text: string) => (/^[A-Za-z][A-Za-z0-9-]*$/.test(text) ? text : undefined),
  },
  'security.ldap.group-search-base': anyText('a distinguished name'),
  'security.ldap.group-search-filter': filter('{0} for the user’s distinguished name'),
  'security.ldap.connect-timeout-ms': wholeNumber('milliseconds', timeouts.minMs, timeouts.maxMs),
  'security.ldap.timeout-ms': wholeNumber('milliseconds', timeouts.minMs, timeouts.maxMs),
}
type LdapProperties = Pick<Properties<typeof ldapReaders>, 'values' | 'refuse'>

const defaultUserFilter = '(uid={0})'
const defaultGroupFilter = '(member={0})'
const defaultNameAttribute = 'uid'

/** @throws ConfigError about what is missing, and about what contradicts something else */
export function ldapConfigOf(properties: LdapProperties): LdapConfig {
  const { values, refuse } = properties
  const url = values['security.ldap.url']
  if (url === undefined) throw refuse('security.ldap.url', 'is missing: security.type=ldap requires it')
  const startTls = values['security.ldap.start-tls'] ?? false
  checkEncryption(new URL(url), startTls, properties)
  const base = values['security.ldap.group-search-base']
  const groupFilter = values['security.ldap.group-search-filter']
  if (base === undefined && groupFilter !== undefined) {
    throw refuse('security.ldap.group-search-filter', 'requires security.ldap.group-search-base')
  }
  return {
    type: 'ldap',
    url,
    startTls,
    ca: values['security.ldap.ca-file']?.content,
    user: userOf(properties),
    nameAttribute: values['security.ldap.user-name-attribute'] ?? defaultNameAttribute,
    groups: base === undefined ? undefined : { base, filter: groupFilter ?? defaultGroupFilter },
    files: filesOf(properties),
    connectTimeoutMs: values['security.ldap.connect-timeout-ms'] ?? timeouts.defaultConnectMs,
    timeoutMs: values['security.ldap.timeout-ms'] ?? timeouts.defaultMs,
  }
}

function filesOf({ values }: LdapProperties): Record<string, string> {
  const keys = ['security.ldap.manager-password-file', 'security.ldap.ca-file'] as const
  return Object.fromEntries(keys.flatMap((key) => (values[key] ? [[key, values[key].path]] : [])))
}

function checkEncryption({ protocol, hostname }: URL, startTls: boolean, properties: LdapProperties): void {
  const { values, refuse } = properties
  const insecure = values['security.ldap.insecure'] ?? false
  const isEncrypted = startTls || protocol === 'ldaps:'
  if (startTls && protocol === 'ldaps:')
    throw refuse(
      'security.ldap.start-tls',
      'applies only to ldap://: remove it, because ldaps:// is already encrypted',
    )
  if (insecure && isEncrypted)
    throw refuse('security.ldap.insecure', 'conflicts with an encrypted connection: remove it')
  if (!isEncrypted && values['security.ldap.ca-file'] !== undefined)
    throw refuse('security.ldap.ca-file', 'requires ldaps:// or security.ldap.start-tls=true')
  if (!isEncrypted && !insecure && !isLoopbackName(hostname)) {
    const ways =
      'use ldaps://, set security.ldap.start-tls=true, or allow it with security.ldap.insecure=true'
    throw refuse('security.ldap.url', `would send passwords over the network in plain text: ${ways}`)
  }
}

function userOf({ values, refuse }: LdapProperties): UserByPattern | UserBySearch {
  const dnPattern = values['security.ldap.user-dn-pattern']
  const searching = [
    'security.ldap.manager-dn',
    'security.ldap.manager-password',
    'security.ldap.manager-password-file',
    'security.ldap.user-search-base',
    'security.ldap.user-search-filter',
  ] as const
  if (dnPattern !== undefined) {
    const other = searching.find((key) => values[key] !== undefined)
    if (other !== undefined)
      throw refuse(other, 'conflicts with security.ldap.user-dn-pattern: remove one of them')
    return { dnPattern }
  }
  const base = values['security.ldap.user-search-base']
  if (base === undefined) {
    throw refuse('security.ldap.user-dn-pattern', 'is missing: set it or security.ldap.user-search-base')
  }
  const managerDn = values['security.ldap.manager-dn']
  if (managerDn === undefined)
    throw refuse('security.ldap.manager-dn', 'is missing: security.ldap.user-search-base requires it')
  const direct = values['security.ldap.manager-password']
  const inFile = values['security.ldap.manager-password-file']
  if (direct !== undefined && inFile !== undefined) {
    throw refuse(
      'security.ldap.manager-password-file',
      'conflicts with security.ldap.manager-password: remove one of them',
    )
  }
  const managerPassword = direct ?? inFile?.content
  if (managerPassword === undefined) {
    throw refuse(
      'security.ldap.manager-password-file',
      'is missing: set it or security.ldap.manager-password',
    )
  }
  return {
    base,
    filter: values['security.ldap.user-search-filter'] ?? defaultUserFilter,
    managerDn,
    managerPassword,
  }
}

function isDirectoryUrl(text: string): boolean {
  if (!/^ldaps?:\/\/[^\s/?#@]+\/?$/.test(text)) return false
  return URL.canParse(text)
}

function textOf(path: string): string | undefined {
  if (!isAbsolute(path)) return undefined
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
