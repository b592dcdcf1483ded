import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { posix, resolve } from 'node:path'
import type { Contract } from '../../subjects/kit/contract.ts'
import { fieldsOf } from '../../subjects/kit/json-schema.ts'
import { coerceFields, type FieldText } from '../../subjects/kit/coerce.ts'
import { GantryError, isGantryError } from '../../subjects/kit/errors.ts'
import { product } from '../../subjects/kit/names.ts'
import { allPages } from '../../subjects/kit/pages.ts'
import { type Filesystem, filesystems } from '../../subjects/filesystems/filesystems.ts'
import { type FilesystemKind, filesystemKinds } from '../../subjects/filesystems/kinds.ts'
import type { Context } from '../context.ts'
import { inWords, unreadable, withFix } from '../failure.ts'
import type { Session } from '../sign-in/session.ts'

export type Role = 'source' | 'target'

/** A store as somebody types it, with a path in it. */
export interface Place {
  readonly text: string
  readonly path: string
  /** Name of a filesystem, or what makes one. */
  readonly filesystem: string | NewFilesystem
}

interface NewFilesystem {
  readonly kind: FilesystemKind
  /** Option that says which store it is: a filesystem that has the same is taken. */
  readonly by: string
  readonly options: Readonly<Record<string, FieldText>>
  /** Variables that give options, or could. */
  readonly variables: Readonly<Record<string, string>>
  /** Options without which most such stores let nobody in. */
  readonly keys: readonly string[]
}

/** What stands before `://`, and what it says; credentials come from variables that the tools of each service read. */
interface Scheme {
  readonly kind: FilesystemKind
  readonly by: string
  /** Of the host of the address. */
  readonly value: (host: string) => string
  /** Options by variables; of a file its content. */
  readonly environment: Readonly<Record<string, readonly string[]>>
  readonly files?: readonly string[]
  /** Options that most such stores let nobody in without. */
  readonly keys?: readonly string[]
}

const s3: Scheme = {
  kind: 's3a',
  by: 'bucketName',
  value: (host) => host,
  environment: {
    accessKey: ['AWS_ACCESS_KEY_ID'],
    secretKey: ['AWS_SECRET_ACCESS_KEY'],
    sessionToken: ['AWS_SESSION_TOKEN'],
    endpoint: ['AWS_ENDPOINT_URL_S3', 'AWS_ENDPOINT_URL'],
  },
  keys: ['accessKey', 'secretKey'],
}

const schemes: Readonly<Record<string, Scheme>> = {
  s3,
  s3a: s3,
  gs: {
    kind: 'gcs',
    by: 'bucketName',
    value: (host) => host,
    environment: { jsonKey: ['GOOGLE_APPLICATION_CREDENTIALS'] },
    files: ['jsonKey'],
    keys: ['jsonKey'],
  },
  hdfs: {
    kind: 'hdfs',
    by: 'defaultFS',
    value: (host) => `hdfs://${host}`,
    environment: { user: ['HADOOP_USER_NAME'] },
  },
}

/**
 * Reads a SOURCE or TARGET: an address, `FILESYSTEM:path`, or a folder of this host.
 * @param options of a filesystem that is added, as `key=value`
 * @throws GantryError INVALID_INPUT
 */
export function placeOf(
  text: string,
  options: readonly string[],
  { env, cwd }: Pick<Context, 'env' | 'cwd'>,
): Place {
  if (text.trim() === '')
    throw new GantryError('INVALID_INPUT', 'SOURCE and TARGET must not be empty: name a folder or an address')
  const { meant, rest } = /^(?<meant>[a-z0-9]+)\/\/(?<rest>[^/].*)$/s.exec(text)?.groups ?? {}
  if (meant !== undefined && schemes[meant] !== undefined)
    throw new GantryError(
      'INVALID_INPUT',
      `${text}: did you mean ${meant}://${rest}? For a folder of this name, use ./${meant}/${rest}`,
    )
  const { scheme, host, below } =
    /^(?<scheme>[a-z0-9]+):\/\/(?<host>[^/]*)(?<below>.*)$/s.exec(text)?.groups ?? {}
  if (scheme !== undefined && host !== undefined) {
    const known = schemes[scheme]
    if (known === undefined || host === '') {
      const others = Object.keys(schemes).map((one) => `${one}://`)
      throw new GantryError(
        'INVALID_INPUT',
        `${text}: use an address that starts with ${others.join(', ')}; add other stores with "${product} filesystems" and use NAME:/path`,
      )
    }
    const typed = pairs(text, options)
    const given = { ...fromEnvironment(known, env), ...typed, [known.by]: known.value(host) }
    return {
      text,
      path: absolute(below ?? ''),
      filesystem: {
        kind: known.kind,
        by: known.by,
        options: given,
        variables: Object.fromEntries(
          Object.entries(known.environment)
            .filter(([option]) => !Object.hasOwn(typed, option))
            .map(([option, variables]) => [option, variables.find((one) => env[one]) ?? variables[0]!]),
        ),
        keys: known.keys ?? [],
      },
    }
  }
  const { name, path } = /^(?<name>[^/\\.:][^/\\:]*):(?<path>.*)$/s.exec(text)?.groups ?? {}
  if (name !== undefined) {
    if (options.length > 0)
      throw new GantryError(
        'INVALID_INPUT',
        `${text}: options apply only to new filesystems, and ${name} already exists: remove the options`,
      )
    return { text, path: absolute(path ?? ''), filesystem: name }
  }
  const fsRoot = resolve(cwd, text)
  const given = { ...pairs(text, options), fsRoot }
  // However it is typed, it is the same place.
  return {
    text: fsRoot,
    path: '/',
    filesystem: { kind: 'local', by: 'fsRoot', options: given, variables: {}, keys: [] },
  }
}

const absolute = (path: string): string => {
  const whole = posix.normalize(`/${path}`)
  return whole === '/' ? whole : whole.replace(/\/$/, '')
}

function pairs(text: string, options: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    options.map((option) => {
      const at = option.indexOf('=')
      if (at < 1) throw new GantryError('INVALID_INPUT', `${text}: write options as key=value, not ${option}`)
      return [option.slice(0, at), option.slice(at + 1)]
    }),
  )
}

function fromEnvironment(
  { environment, files = [] }: Scheme,
  env: NodeJS.ProcessEnv,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment).flatMap(([option, variables]) => {
      const variable = variables.find((one) => env[one])
      if (variable === undefined) return []
      const value = env[variable]!
      return [[option, files.includes(option) ? contentOf(variable, value) : value]]
    }),
  )
}

function contentOf(variable: string, path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    throw new GantryError('INVALID_INPUT', `${variable}: ${unreadable(path, cause)}`, { cause })
  }
}

/** A filesystem of the platform that a place is in, and whether it was added for it. */
export interface Found {
  readonly fileSystemId: string
  readonly isAdded: boolean
}

/** Looks for the filesystem of a place, and adds it where there is none. @throws GantryError */
export async function filesystemOf(
  session: Pick<Session, 'call'>,
  role: Role,
  { filesystem, text }: Place,
): Promise<Found> {
  if (typeof filesystem === 'string') {
    try {
      await session.call(filesystems.get, { fileSystemId: filesystem, role })
    } catch (error) {
      throw isGantryError(error, 'NOT_FOUND') ? withFix(error, `see "${product} filesystems list"`) : error
    }
    return { fileSystemId: filesystem, isAdded: false }
  }
  const { kind, by, options, variables, keys } = filesystem
  const all = await allPages((after?: Filesystem) =>
    session.call(filesystems.list, { role, ...(after && { after: after.fileSystemId }) }),
  )
  const same = all.find(
    ({ fsType, properties }) => fsType === filesystemKinds[kind].fsType && properties[by] === options[by],
  )
  if (same !== undefined) return { fileSystemId: same.fileSystemId, isAdded: false }
  const fileSystemId = nameOf(text, `${role} ${kind} ${String(options[by])}`)
  const contract: Contract = filesystems[`create-${kind}`]
  try {
    await session.call(contract, { ...coerceFields(contract.input, options), fileSystemId, role })
  } catch (error) {
    // The same command, at the same time, was a moment ahead: the name says which place it is.
    if (isGantryError(error, 'ALREADY_EXISTS')) return { fileSystemId, isAdded: false }
    const known = fieldsOf(contract.input)
    const said = inWords(withoutName(error, fileSystemId), (field) =>
      field === by
        ? role.toUpperCase()
        : (variables[field] ?? (Object.hasOwn(known, field) ? `--${role}-option ${field}` : undefined)),
    )
    const isWithoutKeys = keys.length > 0 && keys.every((key) => options[key] === undefined)
    throw isWithoutKeys && isGantryError(said, 'NOT_ACCEPTED')
      ? withFix(said, keysText(role, filesystem))
      : said
  }
  return { fileSystemId, isAdded: true }
}

/** Where keys come from. */
function keysText(role: Role, { keys, variables }: NewFilesystem): string {
  const set = keys.flatMap((key) => variables[key] ?? []).join(' and ')
  return `set ${set}, or add ${keys.map((key) => `--${role}-option ${key}=…`).join(' ')}`
}

/** A name that nobody has given says nothing to them. */
function withoutName(error: unknown, fileSystemId: string): unknown {
  const before = `${fileSystemId}: `
  if (!isGantryError(error) || !error.message.startsWith(before)) return error
  const { code, message, details, requestId } = error
  return new GantryError(code, message.slice(before.length), {
    cause: error,
    details,
    ...(requestId === undefined ? {} : { requestId }),
  })
}

/** Of a name the end says more than the beginning. */
const maxReadable = 40
const digestLength = 8

/** A name that people know again, the same for the same thing. */
export function nameOf(readable: string, whole: string): string {
  const words = readable.replaceAll(/[^A-Za-z0-9._]+/g, '-').slice(-maxReadable)
  return `${words.replaceAll(/^[-.]+|-+$/g, '')}-${digestOf(whole)}`.replace(/^-/, '')
}

/** What tells things apart in names. */
export const digestOf = (whole: string): string =>
  createHash('sha256').update(whole).digest('hex').slice(0, digestLength)
