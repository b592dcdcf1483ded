import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Static, type TInteger, type TOptional, Type } from 'typebox'
import { files, isLoopbackHost } from '../subjects/kit/names.ts'
import { Name, strict } from '../subjects/kit/schemas.ts'
import { ConfigError, readConfig, readAll } from './config-error.ts'
import { parseDuration } from './durations.ts'
import { makePrivate, readTextFile, quarantine, writeSecretFile } from '../broker/common/files.ts'
import { type OtlpConfig, otlpIn } from './otlp.ts'
import { createIdentity, withLimits } from '../broker/identity/create-identity.ts'
import {
  type Identity,
  identityFieldNames,
  readIdentity,
  type StorageLimits,
} from '../broker/identity/identity.ts'
import type { Log } from '../broker/common/log.ts'
import { type Setting, settingsOf } from './settings.ts'
import { maxPort, offsetKey, type PortKey, portKeyDescription, portKeys } from './port-settings.ts'
import { type GivenPorts, portsOfFile } from './ports.ts'
import { webhookHostsIn } from './webhook-hosts.ts'

/** Ports that count for more than the files of the servers. */
const portFields = Object.fromEntries(
  portKeys.map((key) => [
    key,
    Type.Optional(
      Type.Integer({
        minimum: key === offsetKey ? 0 : 1,
        maximum: maxPort,
        description: portKeyDescription(key),
      }),
    ),
  ]),
) as Record<PortKey, TOptional<TInteger>>

const lineLength = 4_000
const Line = Type.String({ maxLength: lineLength })
const Text = (description: string, byDefault?: string) =>
  Type.Optional(
    Type.String({
      maxLength: lineLength,
      description,
      ...(byDefault !== undefined && { default: byDefault }),
    }),
  )

/** Groups are a scope of their own at some providers and come unasked at others. */
export const defaultScopes = 'openid profile email'
export const defaultClockSkewSeconds = 30
export const defaultGroupsClaim = 'groups'

/** A year: what auditors usually look back on. */
const defaultAuditRetention = '365d'

/** Clocks that differ by more are wrong. */
const maxClockSkewSeconds = 600

/** `gantry.config`: the fields that the specification names, and options beside them. */
const PlatformFile = strict({
  'gantry.jwt': Line,
  'gantry.seed': Line,
  'gantry.signingseed': Line,
  'operator.jwt': Line,
  'operator.seed': Line,
  'operator.signingseed': Line,
  'oidc.issuer': Text('Address of the identity provider; if not set, the development sign-in page is used'),
  'oidc.clientid': Text('Client id of the platform at the identity provider'),
  'oidc.uiclientid': Text('Client id of the web interface at the identity provider; default: oidc.clientid'),
  'oidc.clientsecret': Text('Client secret of oidc.clientid, if the identity provider issued one'),
  'oidc.uiclientsecret': Text('Client secret of oidc.uiclientid'),
  'oidc.scopes': Text('Requested scopes, separated by spaces', defaultScopes),
  'oidc.clockskew': Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: maxClockSkewSeconds,
      description: 'Maximum clock difference to the identity provider in seconds',
      default: defaultClockSkewSeconds,
    }),
  ),
  admin_subject: Text('Subject of the only administrator'),
  admin_group: Text('Group whose members are administrators'),
  'rbac.admin_subject': Text('Same as admin_subject'),
  'rbac.admin_group': Text('Same as admin_group'),
  'rbac.bootstrap': Type.Optional(
    Type.Boolean({
      description: 'Whether everybody is an administrator while no administrator is set',
      default: false,
    }),
  ),
  'rbac.groups_claim': Text('Token claim that contains the groups', defaultGroupsClaim),
  'rbac.default_role': Type.Optional(Name('Role of all users')),
  'audit.retention': Text('Retention of the audit log, such as 90d or 2y', defaultAuditRetention),
  'platform.url': Text('Public address of the REST server without a path; default: its listen address'),
  'websocket.url': Text(
    'Public address of the WebSocket port, such as wss://events.example; default: its listen address',
  ),
  'otlp.endpoint': Text('Address of an OpenTelemetry collector; if not set, nothing is exported'),
  'otlp.headers': Text('Headers for the collector: name=value, separated by commas'),
  'alerts.webhook_hosts': Text('Hosts in private networks that webhooks may use, separated by commas'),
  ...portFields,
  'storage.salt': Type.String({ minLength: 16, maxLength: 400 }),
})
type PlatformFile = Static<typeof PlatformFile>

/** Made by the first start, and never by hand. */
const madeFields: readonly string[] = [...identityFieldNames, 'storage.salt']
const secretFields = ['oidc.clientsecret', 'oidc.uiclientsecret', 'otlp.headers']

/** Settings in `gantry.config`. */
export const platformSettings: readonly Setting[] = settingsOf(
  files.config,
  PlatformFile,
  secretFields,
).filter(({ name }) => !madeFields.includes(name))

/** Who is an administrator, and what role everybody has, by the configuration. */
export interface AdminRules {
  /** Exactly this subject. */
  readonly adminSubject: string | undefined
  /** Members of exactly this group. */
  readonly adminGroup: string | undefined
  /** Somebody wants everybody to be an administrator while neither of these is set. */
  readonly bootstrapAcknowledged: boolean
  readonly defaultRole: string | undefined
}

/** The identity provider, and what we are called there. */
export interface OidcConfig {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string | undefined
  readonly uiClientId: string
  readonly uiClientSecret: string | undefined
  /** Separated by blanks. */
  readonly scopes: string
  readonly clockSkewSeconds: number
  readonly groupsClaim: string
  /**
   * Where browsers come back to once they have signed out there. Only of the development provider: others refuse an address
   * that nobody has registered, and show a page of their own without one.
   */
  readonly postLogoutRedirectUri?: string
}

export interface PlatformConfig {
  readonly identity: Identity
  readonly salt: string
  readonly rules: AdminRules
  /** undefined when no provider is configured. */
  readonly oidc: OidcConfig | undefined
  /** How long the records of the audit log are kept. */
  readonly auditRetentionMs: number
  /** Where browsers reach the platform's REST server, without a path; undefined when it is where that server listens. */
  readonly publicUrl: string | undefined
  /** Where browsers reach the WebSocket port; undefined where it listens. */
  readonly publicWebsocketUrl: string | undefined
  /** undefined when nothing is exported. */
  readonly otlp: OtlpConfig | undefined
  /** Hosts, maybe with a port, in inner networks that webhooks of alerts may be at. */
  readonly webhookHosts: ReadonlySet<string>
  /** Ports that count for more than those of the files of the servers. */
  readonly givenPorts: GivenPorts
}

/** Subject of the administrator whom a new configuration names: the one of the development provider. */
export const developmentAdmin = 'development-administrator'

const saltBytes = 32

/** Who comes back from a weekend must still see what happened. */
const minAuditRetention = '3d'
/** Longer than any instance lives, and within what the broker counts in nanoseconds. */
const maxAuditRetention = '100y'

/**
 * Reads `gantry.config`, or makes it on the first run. Its backup is kept equal to the last version that was right;
 * when the identity fields are missing or corrupt the file is restored from there and the wrong one is set aside.
 * @throws ConfigError when the backup does not help either, or a field is wrong.
 */
export async function loadPlatformConfig(
  home: string,
  limits: StorageLimits,
  log: Log,
): Promise<PlatformConfig> {
  makeFolder(home)
  const path = join(home, files.config)
  const backup = `${path}.backup`
  const text = readTextFile(path)
  const backupText = readTextFile(backup)
  if (text === undefined && backupText === undefined) return create(path, backup, limits, log)

  let identity: Identity
  let good = text ?? ''
  try {
    if (text === undefined) throw new Error('the file is missing')
    identity = identityIn(text)
  } catch (error) {
    identity = restore(path, backup, backupText, error as Error, log)
    good = backupText!
  }
  const { value: file, used: options } = readConfig(PlatformFile, good, files.config, optionsIn)
  const signed = await withLimits(identity, limits)
  const written = signed === identity ? good : serialise({ ...file, ...signed.fields })
  if (written !== text) writeSecretFile(path, written)
  if (written !== backupText) writeSecretFile(backup, written)
  for (const each of [path, backup]) {
    if (makePrivate(each))
      log.warn(
        { path: each },
        'A file with secrets was readable by other users; its permissions were corrected.',
      )
  }
  return { identity: signed, ...options }
}

/**
 * The options of `gantry.config`, without writing anything; undefined where there is none, or its identity is damaged, which
 * is for who loads it.
 * @throws ConfigError with all problems
 */
export function readPlatformOptions(home: string): Omit<PlatformConfig, 'identity'> | undefined {
  const text = readTextFile(join(home, files.config))
  if (text === undefined) return undefined
  try {
    identityIn(text)
  } catch {
    return undefined
  }
  return readConfig(PlatformFile, text, files.config, optionsIn).used
}

/** @throws ConfigError when the next start would not use `gantry.config`, but its backup */
export function requireIdentity(home: string): void {
  const text = readTextFile(join(home, files.config))
  if (text === undefined) return
  try {
    identityIn(text)
  } catch (error) {
    throw new ConfigError(
      `${files.config}: ${(error as Error).message}; the next start puts this file aside and restores its backup, without your changes`,
    )
  }
}

async function create(
  path: string,
  backup: string,
  limits: StorageLimits,
  log: Log,
): Promise<PlatformConfig> {
  const identity = await createIdentity(limits)
  const salt = randomBytes(saltBytes).toString('base64url')
  // Whoever comes first must not be an administrator by accident.
  const file = { ...identity.fields, admin_subject: developmentAdmin, 'storage.salt': salt }
  const text = serialise(file)
  // The backup first: were we killed in between, the next start restores from it instead of making another identity.
  writeSecretFile(backup, text)
  writeSecretFile(path, text)
  log.info({ path, instance: identity.instance }, 'Created a new platform identity.')
  return { identity, ...optionsIn(file) }
}

/** What a file says beside the identity. @throws ConfigError when a provider is named in part */
function optionsIn(file: PlatformFile): Omit<PlatformConfig, 'identity'> {
  const read = readAll({
    oidc: () => oidcIn(file),
    auditRetentionMs: () => retentionIn(file),
    publicUrl: () => publicAddressIn(file, 'platform.url', 'http'),
    publicWebsocketUrl: () => publicAddressIn(file, 'websocket.url', 'ws'),
    otlp: () => otlpIn(file),
    webhookHosts: () => webhookHostsIn(file),
    givenPorts: () => portsOfFile(files.config, file),
  })
  return {
    ...read,
    salt: file['storage.salt'],
    rules: {
      adminSubject: file.admin_subject ?? file['rbac.admin_subject'],
      adminGroup: file.admin_group ?? file['rbac.admin_group'],
      bootstrapAcknowledged: file['rbac.bootstrap'] ?? false,
      defaultRole: file['rbac.default_role'],
    },
  }
}

function retentionIn({ 'audit.retention': text = defaultAuditRetention }: PlatformFile): number {
  const ms = parseDuration(text)
  if (ms === undefined) {
    throw new ConfigError(
      `${files.config}: audit.retention must be a duration such as 90d or 2y, not ${JSON.stringify(text)}`,
    )
  }
  if (ms < parseDuration(minAuditRetention)! || ms > parseDuration(maxAuditRetention)!) {
    throw new ConfigError(
      `${files.config}: audit.retention must be between ${minAuditRetention} and ${maxAuditRetention}`,
    )
  }
  return ms
}

/** An address at which others reach us, if the file has one. */
function publicAddressIn(
  file: PlatformFile,
  key: 'platform.url' | 'websocket.url',
  scheme: 'http' | 'ws',
): string | undefined {
  const text = file[key]
  if (text === undefined) return undefined
  const url = URL.parse(text)
  const isOfScheme = url !== null && [`${scheme}:`, `${scheme}s:`].includes(url.protocol)
  if (isOfScheme && `${url.origin}/` === url.href) return url.origin
  throw new ConfigError(
    `${files.config}: ${key} must be ${scheme}:// or ${scheme}s:// with a host and without a path`,
  )
}

/** @throws ConfigError when it is no address that secrets may be sent to */
function issuerIn(text: string): string {
  const issuer = /^https?:\/\//.test(text) ? text : `https://${text}`
  const url = URL.parse(issuer)
  if (url === null) throw new ConfigError(`${files.config}: oidc.issuer must be a URL`)
  if (url.protocol === 'http:' && !isLoopbackHost(url.hostname)) {
    throw new ConfigError(`${files.config}: oidc.issuer must use https://, unless it is on this host`)
  }
  return issuer
}

function oidcIn(file: PlatformFile): OidcConfig | undefined {
  const { 'oidc.issuer': issuer, 'oidc.clientid': clientId, 'oidc.uiclientid': uiClientId } = file
  if (issuer === undefined) return undefined
  if (clientId === undefined) {
    throw new ConfigError(
      `${files.config}: oidc.clientid is missing: set the client id of Gantry at ${issuer}`,
    )
  }
  return {
    issuer: issuerIn(issuer),
    clientId,
    clientSecret: file['oidc.clientsecret'],
    uiClientId: uiClientId ?? clientId,
    uiClientSecret: uiClientId === undefined ? file['oidc.clientsecret'] : file['oidc.uiclientsecret'],
    scopes: file['oidc.scopes'] ?? defaultScopes,
    clockSkewSeconds: file['oidc.clockskew'] ?? defaultClockSkewSeconds,
    groupsClaim: file['rbac.groups_claim'] ?? defaultGroupsClaim,
  }
}

/** @throws Error that says which field is wrong, or that the text is no JSON object. */
function identityIn(text: string): Identity {
  const file: unknown = JSON.parse(text)
  if (typeof file !== 'object' || file === null || Array.isArray(file))
    throw new Error('it is not a JSON object')
  return readIdentity(file)
}

function restore(
  path: string,
  backup: string,
  backupText: string | undefined,
  error: Error,
  log: Log,
): Identity {
  const fix = `Restore ${path} from your own backup, or remove both files to start with a new identity (all tokens and stored secrets are lost).`
  if (backupText === undefined)
    throw new ConfigError(`${path}: ${error.message}, and there is no ${backup}. ${fix}`)
  let identity: Identity
  try {
    identity = identityIn(backupText)
  } catch (cause) {
    const message = `${path}: ${error.message}, and its backup cannot be used either: ${(cause as Error).message}. ${fix}`
    throw new ConfigError(message, { cause })
  }
  const aside = quarantine(path, 'corrupt')
  writeSecretFile(path, backupText)
  log.warn({ reason: error.message, aside }, `Restored ${files.config} from its backup.`)
  return identity
}

const serialise = (file: PlatformFile): string => `${JSON.stringify(file, null, 2)}\n`

function makeFolder(home: string): void {
  try {
    mkdirSync(home, { recursive: true, mode: 0o700 })
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new ConfigError(
      `the configuration folder ${home} cannot be created (${code}): set GANTRY_HOME to another folder`,
      { cause },
    )
  }
}
