import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Static, Type } from 'typebox'
import { files } from '../subjects/names.ts'
import { strict } from '../subjects/schemas.ts'
import { checkConfig, ConfigError, parseConfig } from './config-error.ts'
import { makePrivate, readTextFile, setAside, writeSecretFile } from './files.ts'
import { createIdentity, type Identity, readIdentity, type StorageLimits, withLimits } from './identity.ts'
import type { Log } from './log.ts'

const Line = Type.String({ maxLength: 4_000 })

/** `gantry.config`: exactly the fields that the specification names. */
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
  admin_subject: Type.Optional(Line),
  admin_group: Type.Optional(Line),
  'rbac.bootstrap': Type.Optional(Type.Boolean()),
  'storage.salt': Type.String({ minLength: 16, maxLength: 400 }),
})
type PlatformFile = Static<typeof PlatformFile>

export interface PlatformConfig {
  readonly identity: Identity
  readonly salt: string
}

const saltBytes = 32

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
  const signed = await withLimits(identity, limits)
  const written = signed === identity ? good : serialise({ ...file, ...signed.fields })
  if (written !== text) writeSecretFile(path, written)
  if (written !== backupText) writeSecretFile(backup, written)
  for (const each of [path, backup]) {
    if (makePrivate(each))
      log.warn({ path: each }, 'A file with secrets could be read by others; it is private again.')
  }
  return { identity: signed, salt: file['storage.salt'] }
}

async function create(
  path: string,
  backup: string,
  limits: StorageLimits,
  log: Log,
): Promise<PlatformConfig> {
  const identity = await createIdentity(limits)
  const salt = randomBytes(saltBytes).toString('base64url')
  const text = serialise({ ...identity.fields, 'storage.salt': salt })
  // The backup first: were we killed in between, the next start restores from it instead of making another identity.
  writeSecretFile(backup, text)
  writeSecretFile(path, text)
  log.info({ path, instance: identity.instance }, 'Made a new platform identity.')
  return { identity, salt }
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
  const aside = setAside(path, 'corrupt')
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
