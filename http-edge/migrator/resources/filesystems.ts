import { type TSchema, Type } from 'typebox'
import type { Contract, Output } from '../../../subjects/kit/contract.ts'
import { fieldsOf } from '../../../subjects/kit/json-schema.ts'
import {
  discoverableKinds,
  discoveredId,
  filesystems,
  kinds,
  removalSeconds,
} from '../../../subjects/filesystems/filesystems.ts'
import { type FilesystemKind, filesystemKinds } from '../../../subjects/filesystems/kinds.ts'
import { AdditionalProperties, model, Text } from '../../../subjects/kit/schemas.ts'
import { WireRefusal } from '../errors.ts'
import { type MigratorOperation, operation } from '../operation.ts'
import type { Warn, Wire } from '../../surface/operation.ts'

/** Sources and targets have the same operations, and a field each that the other has not. */
const roles = [
  {
    role: 'source',
    collection: '/fs/sources',
    own: 'scanOnly',
    others: ['listenAndApplySourceChanges', 'reportedChanges'],
  },
  {
    role: 'target',
    collection: '/fs/targets',
    own: 'listenAndApplySourceChanges',
    others: ['scanOnly', 'reportedChanges'],
  },
] as const

const errors = {
  NOT_FOUND: { errorCode: 'FILE_SYSTEM_NOT_FOUND' },
  ALREADY_EXISTS: { errorCode: 'FILE_SYSTEM_ALREADY_EXISTS' },
  // One of another kind.
  NOT_ALLOWED_IN_STATE: { status: 409, errorCode: 'INCOMPATIBLE_FILE_SYSTEM' },
} as const

const ineffective = {
  propertiesFiles: 'set the properties in the request instead',
  deleteListener: 'the platform has no listener at the source',
} as const

const Properties = AdditionalProperties(
  'Additional properties by name: properties of this kind of filesystem have an effect, others are only stored and shown',
)

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Parts the properties that a kind knows from those that are only kept, and tells which these are. */
function dividing(contract: Contract): (wire: Wire, warn: Warn) => Wire {
  const honoured = fieldsOf(contract.input)['additionalProperties']
  const patterns = Object.keys(honoured?.patternProperties ?? {}).map((pattern) => new RegExp(pattern, 'u'))
  return (wire, warn) => {
    const { additionalProperties, ...rest } = wire
    if (!isRecord(additionalProperties)) return wire
    const [known, others] = [{}, {}] as Record<string, unknown>[]
    for (const [name, value] of Object.entries(additionalProperties)) {
      const isKnown = patterns.some((pattern) => pattern.test(name))
      if (!isKnown) warn(`additionalProperties: ${name} is stored but has no effect`)
      ;(isKnown ? known : others)![name] = value
    }
    return {
      ...rest,
      ...(patterns.length === 0 ? {} : { additionalProperties: known }),
      otherProperties: others,
    }
  }
}

/** The surface has no word for what is done in part. */
function wholly({ complete, removed }: Output<(typeof filesystems)['delete-path']>): true {
  if (complete) return true
  throw new WireRefusal(
    'TIMEOUT',
    { status: 504, errorCode: 'ASYNC_REQUEST_TIMEOUT' },
    `removed ${removed} files and folders within ${removalSeconds} seconds, and more remain: repeat the request`,
  )
}

/** A file of a form, as an option has it. */
const inEncoding = (base64: string, encoding: BufferEncoding): string =>
  Buffer.from(base64, 'base64').toString(encoding)

/** Options of a kind that come as files, with the name that they have in paths and the field of their form. */
function keyFilesOf(kind: FilesystemKind) {
  const its = filesystemKinds[kind]
  return Object.entries('keyFiles' in its ? its.keyFiles : {}).map(([option, { name, encoding }]) => ({
    option,
    name,
    encoding,
    field: `${name}KeyFile`,
  }))
}

function changing(contract: Contract, kind: FilesystemKind, own: string) {
  const its = filesystemKinds[kind]
  const renamed: readonly (readonly [string, string])[] = Object.entries(
    'wireNames' in its ? its.wireNames : {},
  )
  const divide = dividing(contract)
  return {
    query: [own],
    fields: { additionalProperties: Properties },
    bodyFields: Object.fromEntries(
      renamed.map(([option, name]) => [name, fieldsOf(contract.input)[option] as TSchema]),
    ),
    without: ['otherProperties', ...renamed.map(([option]) => option)],
    request: (wire: Wire, warn: Warn) => {
      const named: Record<string, unknown> = { ...wire }
      for (const [option, name] of renamed) {
        if (named[name] !== undefined) named[option] = named[name]
        delete named[name]
      }
      return divide(named, warn)
    },
    errors,
    ineffective: { ...ineffective, ...('wireIneffective' in its ? its.wireIneffective : {}) },
  }
}

const ofRole = ({ role, collection, own, others }: (typeof roles)[number]): MigratorOperation[] => {
  const bind = { role }
  const one = `${collection}/{fileSystemId}`
  return [
    operation(filesystems.list, 'GET', collection, { bind }),
    operation(filesystems.clear, 'DELETE', collection, { bind, ineffective, errors }),
    operation(filesystems.get, 'GET', one, { bind, errors }),
    operation(filesystems.delete, 'DELETE', one, { bind, ineffective, errors }),
    operation(filesystems['list-paths'], 'GET', `${one}/listPaths`, { bind, errors }),
    operation(filesystems['delete-path'], 'POST', `${one}/deleteByPath`, {
      bind,
      query: ['path'],
      errors: {
        ...errors,
        NOT_FOUND: { errorCode: 'FILE_NOT_FOUND' },
        NOT_ALLOWED_IN_STATE: { status: 409, errorCode: 'FILE_IO_ERROR' },
      },
      refuses: { 504: 'ASYNC_REQUEST_TIMEOUT: files remain; repeat the request.' },
      reply: Type.Boolean({ description: 'true: everything was removed' }),
      response: wholly,
    }),
    ...kinds.flatMap((kind) => {
      const at = `${collection}/${filesystemKinds[kind].path}`
      const verbs: readonly Pick<MigratorOperation, 'calls' | 'method' | 'status'>[] = [
        { calls: filesystems[`create-${kind}`], method: 'POST', status: 201 },
        { calls: filesystems[`update-${kind}`], method: 'PATCH', status: 200 },
      ]
      const files = keyFilesOf(kind)
      const plain = verbs.map(({ calls, method, status }) => {
        const common = changing(calls, kind, own)
        const notRead = Object.fromEntries(
          files.map(({ name, field }) => [
            field,
            `files on this host are not read: send the file to ${at}/keyfiles/${name}`,
          ]),
        )
        const its = { ...common, ineffective: { ...common.ineffective, ...notRead } }
        return operation(calls, method, `${at}/{fileSystemId}`, { ...its, bind, omit: others, status })
      })
      const withFile = files.flatMap(({ option, name, encoding, field }) =>
        verbs.map(({ calls, method, status }) => {
          const { request, without, bodyFields, ...common } = changing(calls, kind, own)
          return operation(calls, method, `${at}/keyfiles/${name}/{fileSystemId}`, {
            ...common,
            bind,
            omit: others,
            status,
            sends: 'multipart/form-data',
            variant: `${name}-key-file`,
            without: [...without, ...files.map((file) => file.option)],
            bodyFields: {
              ...bodyFields,
              [field]: Type.String({ format: 'binary', description: 'Key file' }),
            },
            request: ({ [field]: key, ...wire }, warn) =>
              request(
                { ...wire, ...(typeof key === 'string' && { [option]: inEncoding(key, encoding) }) },
                warn,
              ),
          })
        }),
      )
      return [...plain, ...withFile]
    }),
  ]
}

/** The surface knows one kind that is found on the host, and has no field for it in the paths of what was found. */
const discoveries = discoverableKinds.flatMap((kind) => {
  const found = filesystems[`discovery-${kind}`]
  const create = filesystems[`discover-${kind}`]
  const { path } = filesystemKinds[kind]
  return [
    operation(create, 'POST', `/fs/autodiscover/sources/${path}`, {
      ...changing(create, kind, 'scanOnly'),
      bind: { fileSystemId: discoveredId(kind) },
      status: 201,
    }),
    operation(found, 'GET', '/fs/sources/auto-discover-status', {
      reply: model('AutoDiscoverFSStatus', {
        message: Text('Discovery result with the location, or the reason why nothing was found and the fix'),
        errorCode: Type.Integer({ description: '0: a cluster was found; 1: no cluster was found' }),
      }),
      response: ({ found: isFound, message }) => ({ message, errorCode: isFound ? 0 : 1 }),
    }),
    operation(found, 'GET', '/fs/sources/auto-discover-message', {
      variant: 'message',
      reply: Text('Discovery result with the location, or the reason why nothing was found and the fix'),
      response: ({ message }) => message,
    }),
  ]
})

export const filesystemOperations = [
  ...roles.flatMap(ofRole),
  ...discoveries,
  operation(filesystems.kinds, 'GET', '/fs/targets/availableFileSystems'),
  operation(filesystems['health-all'], 'GET', '/fs/health'),
  operation(filesystems.health, 'GET', '/fs/health/{fileSystemId}', { errors }),
]
