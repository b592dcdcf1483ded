import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Static, Type } from 'typebox'
import { files, isLoopbackHost } from '../subjects/kit/names.ts'
import { Name, strict } from '../subjects/kit/schemas.ts'
import { checkConfig, ConfigError, parseConfig } from './config-error.ts'
import { parseDuration } from './durations.ts'
import { makePrivate, readTextFile, quarantine, writeSecretFile } from '../broker/common/files.ts'
import { type OtlpConfig, otlpIn } from './otlp.ts'
import { createIdentity, withLimits } from '../broker/identity/create-identity.ts'
import { type Identity, readIdentity, type StorageLimits } from '../broker/identity/identity.ts'
import type { Log } from '../broker/common/log.ts'
import { webhookHostsIn } from './webhook-hosts.ts'

const Line = Type.String({ maxLength: 4_000 })

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
  'oidc.issuer': Type.Optional(Line),
  'oidc.clientid': Type.Optional(Line),
  'oidc.uiclientid': Type.Optional(Line),
  'oidc.clientsecret': Type.Optional(Line),
  'oidc.uiclientsecret': Type.Optional(Line),
  'oidc.scopes': Type.Optional(Line),
  'oidc.clockskew': Type.Optional(Type.Integer({ minimum: 0, maximum: maxClockSkewSeconds })),
  admin_subject: Type.Optional(Line),
  admin_group: Type.Optional(Line),
  'rbac.admin_subject': Type.Optional(Line),
  'rbac.admin_group': Type.Optional(Line),
  'rbac.bootstrap': Type.Optional(Type.Boolean()),
  'rbac.groups_claim': Type.Optional(Line),
  'rbac.default_role': Type.Optional(Name('Role')),
  'audit.retention': Type.Optional(Line),
  'platform.url': Type.Optional(Line),
  'otlp.endpoint': Type.Optional(Line),
  'otlp.headers': Type.Optional(Line),
  'alerts.webhook_hosts': Type.Optional(Line),
  'storage.salt': Type.String({ minLength: 16, maxLength: 400 }),
})
type PlatformFile = Static<typeof PlatformFile>

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
  /** undefined when nothing is exported. */
  readonly otlp: OtlpConfig | undefined
  /** Hosts, maybe with a port, in inner networks that webhooks of alerts may be at. */
  readonly webhookHosts: ReadonlySet<string>
}

/** Groups are a scope of their own at some providers and come unasked at others. */
export const defaultScopes = 'openid profile email'
export const defaultClockSkewSeconds = 30
export const defaultGroupsClaim = 'groups'

/** Subject of the administrator whom a new configuration names: the one of the development provider. */
export const developmentAdmin = 'development-administrator'

const saltBytes = 32

/** A year: what auditors usually look back on. */
const defaultAuditRetention = '365d'
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
  const file = checkConfig(PlatformFile, parseConfig(path, good), files.config)
  const options = optionsIn(file)
  const signed = await withLimits(identity, limits)
  const written = signed === identity ? good : serialise({ ...file, ...signed.fields })
  if (written !== text) writeSecretFile(path, written)
  if (written !== backupText) writeSecretFile(backup, written)
  for (const each of [path, backup]) {
    if (makePrivate(each))
      log.warn({ path: each }, 'A file with secrets could be read by others; it is private again.')
  }
  return { identity: signed, ...options }
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
  log.info({ path, instance: identity.instance }, 'Made a new platform identity.')
  return { identity, ...optionsIn(file) }
}

/** What a file says beside the identity. @throws ConfigError when a provider is named in part */
function optionsIn(file: PlatformFile): Omit<PlatformConfig, 'identity'> {
  return {
    salt: file['storage.salt'],
    rules: {
      adminSubject: file.admin_subject ?? file['rbac.admin_subject'],
      adminGroup: file.admin_group ?? file['rbac.admin_group'],
      bootstrapAcknowledged: file['rbac.bootstrap'] ?? false,
      defaultRole: file['rbac.default_role'],
    },
    oidc: oidcIn(file),
    auditRetentionMs: retentionIn(file),
    publicUrl: publicUrlIn(file),
    otlp: otlpIn(file),
    webhookHosts: webhookHostsIn(file),
  }
}

function retentionIn({ 'audit.retention': text = defaultAuditRetention }: PlatformFile): number {
  const ms = parseDuration(text)
  if (ms === undefined) {
    throw new ConfigError(
      `${files.config}: audit.retention is no duration: ${JSON.stringify(text)}; write it like 90d or 2y`,
    )
  }
  if (ms < parseDuration(minAuditRetention)! || ms > parseDuration(maxAuditRetention)!) {
    throw new ConfigError(
      `${files.config}: audit.retention must be between ${minAuditRetention} and ${maxAuditRetention}`,
    )
  }
  return ms
}

function publicUrlIn({ 'platform.url': text }: PlatformFile): string | undefined {
  if (text === undefined) return undefined
  const url = URL.parse(text)
  if (url !== null && /^https?:$/.test(url.protocol) && `${url.origin}/` === url.href) return url.origin
  throw new ConfigError(
    `${files.config}: platform.url must be http:// or https:// and a host, without a path`,
  )
}

/** @throws ConfigError when it is no address that secrets may be sent to */
function issuerIn(text: string): string {
  const issuer = /^https?:\/\//.test(text) ? text : `https://${text}`
  const url = URL.parse(issuer)
  if (url === null) throw new ConfigError(`${files.config}: oidc.issuer is no URL`)
  if (url.protocol === 'http:' && !isLoopbackHost(url.hostname)) {
    throw new ConfigError(`${files.config}: oidc.issuer must be https://, or on this host`)
  }
  return issuer
}

function oidcIn(file: PlatformFile): OidcConfig | undefined {
  const { 'oidc.issuer': issuer, 'oidc.clientid': clientId, 'oidc.uiclientid': uiClientId } = file
  if (issuer === undefined) return undefined
  if (clientId === undefined) {
    throw new ConfigError(`${files.config}: oidc.clientid is missing, what we are called at ${issuer}`)
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
    throw new Error('it is no JSON object')
  return readIdentity(file)
}

function restore(
  path: string,
  backup: string,
  backupText: string | undefined,
  error: Error,
  log: Log,
): Identity {
  const fix = `Restore ${path} from your own backup, or remove both files to start with a new identity: all tokens and stored secrets are then lost.`
  if (backupText === undefined)
    throw new ConfigError(`${path}: ${error.message}, and there is no ${backup}. ${fix}`)
  let identity: Identity
  try {
    identity = identityIn(backupText)
  } catch (cause) {
    const message = `${path}: ${error.message}, and its backup is no better: ${(cause as Error).message}. ${fix}`
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
      `the configuration folder ${home} cannot be made (${code}); set GANTRY_HOME to one that can`,
      { cause },
    )
  }
}
