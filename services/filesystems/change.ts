import { isDeepStrictEqual } from 'node:util'
import type { Owned } from '../../broker/rpc/owners.ts'
import type { Call, Contract, Output } from '../../subjects/kit/contract.ts'
import { fieldsOfOtherRole, type filesystems } from '../../subjects/filesystems/filesystems.ts'
import { GantryError, notAccepted } from '../../subjects/kit/errors.ts'
import {
  type FilesystemKind,
  filesystemKinds,
  type FilesystemSpec,
} from '../../subjects/filesystems/kinds.ts'
import { product } from '../../subjects/kit/names.ts'
import { requireSecretsAgain, withoutReplaced } from '../kit/changed-options.ts'
import { openSecrets, sealSecrets } from '../drivers/contract/secrets.ts'
import { StoreError } from '../drivers/index.ts'
import type { FilesystemDependencies } from './dependencies.ts'
import { type FilesystemRecord, publicFilesystem, type Role, roleOf } from './record.ts'
import { askerOf, askerWith, logDetail, storeFailure } from './store.ts'
import type { Asker } from '../questions/question-threads.ts'

type Dependencies = Pick<FilesystemDependencies, 'owners' | 'filesystems' | 'sealer' | 'stores' | 'log'>

/** Fields of every kind's create and update; the rest are the kind's options. */
interface Place {
  fileSystemId: string
  role?: Role
  scanOnly?: boolean
  reportedChanges?: boolean
  listenAndApplySourceChanges?: boolean
  otherProperties?: Record<string, string>
}

/** Makes a filesystem of a kind, once its store has been asked. */
export function creator(kind: FilesystemKind, { owners, filesystems, sealer, stores, log }: Dependencies) {
  const owned: Owned = {
    limit: 'maxFilesystems',
    what: 'filesystems',
    fix: `delete some with "${product} filesystems delete"`,
    count: (owner) => filesystems.sizeOfGroup(owner),
  }
  return async (input: Place & { role: Role }, call: Pick<Call<Contract>, 'caller' | 'signal'>) => {
    const {
      fileSystemId,
      role,
      scanOnly = true,
      reportedChanges = false,
      listenAndApplySourceChanges = true,
      otherProperties,
      ...options
    } = input
    refuseForeignFields(input)
    const [stored, allowance] = await Promise.all([
      filesystems.get(fileSystemId),
      owners.allowanceOf(call.caller),
    ])
    if (stored !== undefined)
      throw new GantryError('ALREADY_EXISTS', `filesystem ${fileSystemId} already exists`)
    const asker = askerWith(allowance, call.signal)
    await requireReachable({ stores, log }, { kind, options }, { fileSystemId, role }, asker)
    const record: FilesystemRecord = {
      fileSystemId,
      isSource: role === 'source',
      isScanOnly: role === 'source' && scanOnly,
      listenAndApplySourceChanges,
      ...(reportedChanges && { reportedChanges }),
      ...(otherProperties === undefined ? {} : { otherProperties }),
      kind,
      options: sealSecrets(kind, options, sealer),
    }
    await owners.make(allowance, owned, (owner) =>
      filesystems.create(fileSystemId, { ...record, ...(owner === undefined ? {} : { owner }) }),
    )
    return publicFilesystem(record)
  }
}

/** Tries what a migration needs of a store of a kind, of which nothing is kept. */
export function checker(kind: FilesystemKind, dependencies: Pick<Dependencies, 'owners' | 'stores' | 'log'>) {
  return async (
    { role, ...options }: { role: Role },
    call: Pick<Call<Contract>, 'caller' | 'signal'>,
  ): Promise<Output<(typeof filesystems)['check-stored']>> => {
    const asker = await askerOf(dependencies.owners, call)
    // The kind's schema has been checked by its contract.
    return checked(dependencies, { kind, options } as FilesystemSpec, role, asker)
  }
}

/** What came of a check; a store that does not answer in time is not reached. */
export async function checked(
  { stores, log }: Pick<Dependencies, 'stores' | 'log'>,
  spec: FilesystemSpec,
  role: Role,
  asker: Asker,
): Promise<Output<(typeof filesystems)['check-stored']>> {
  try {
    const checks = await stores.check(spec, role, asker)
    return { ok: checks.every(({ result }) => result !== 'no'), checks }
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    logDetail(error, spec.kind, log)
    return { ok: false, checks: [{ check: 'reach', result: 'no', detail: error.messageFor(role) }] }
  }
}

/** Changes a filesystem of a kind, once its store has been asked. */
export function updater(kind: FilesystemKind, { owners, filesystems, sealer, stores, log }: Dependencies) {
  return async (input: Place, call: Pick<Call<Contract>, 'caller' | 'signal'>) => {
    const {
      fileSystemId,
      role,
      scanOnly,
      reportedChanges,
      listenAndApplySourceChanges,
      otherProperties,
      ...changes
    } = input
    const current = await filesystems.get(fileSystemId)
    if (current === undefined || (role !== undefined && roleOf(current) !== role)) {
      throw new GantryError('NOT_FOUND', `there is no ${role ?? 'filesystem'} ${fileSystemId}`)
    }
    if (current.kind !== kind) {
      throw new GantryError('NOT_ALLOWED_IN_STATE', `${fileSystemId} is of kind ${current.kind}, not ${kind}`)
    }
    refuseForeignFields({ ...input, role: roleOf(current) })
    const its = filesystemKinds[kind]
    requireSecretsAgain(its, withoutReplaced(its, current.options, changes), changes)
    const opened = openSecrets(current.kind, current.options, sealer).options
    const options = { ...withoutReplaced(its, opened, changes), ...changes }
    const asker = await askerOf(owners, call, current)
    const place = { fileSystemId, role: roleOf(current) }
    await requireReachable({ stores, log }, { kind, options }, place, asker)
    const record = await filesystems.update(fileSystemId, (stored) => {
      // The store was asked with the options that were there before; nobody has asked it with others.
      if (!isDeepStrictEqual(stored, current)) {
        throw new GantryError(
          'CONFLICT',
          `${fileSystemId} was changed by another request at the same time; try again`,
        )
      }
      const { reportedChanges: wasReported = false, ...rest } = stored
      return {
        ...rest,
        ...((reportedChanges ?? wasReported) && { reportedChanges: true }),
        isScanOnly: scanOnly ?? stored.isScanOnly,
        listenAndApplySourceChanges: listenAndApplySourceChanges ?? stored.listenAndApplySourceChanges,
        ...(otherProperties === undefined ? {} : { otherProperties }),
        options: sealSecrets(kind, options, sealer),
      }
    })
    return publicFilesystem(record)
  }
}

/** Sources and targets share a contract, and some fields belong to one of them. */
function refuseForeignFields({ role, ...place }: Place): void {
  const foreign =
    role && fieldsOfOtherRole[role].find((name) => place[name as keyof typeof place] !== undefined)
  if (foreign === undefined) return
  throw notAccepted(foreign, `is not allowed for a ${role}`)
}

async function requireReachable(
  { stores, log }: Pick<Dependencies, 'stores' | 'log'>,
  spec: { kind: FilesystemKind; options: object },
  { fileSystemId, role }: { readonly fileSystemId: string; readonly role: Role },
  asker: Asker,
): Promise<void> {
  try {
    // The kind's schema has been checked by its contract.
    await stores.probe(spec as FilesystemSpec, asker)
  } catch (error) {
    logDetail(error, fileSystemId, log)
    throw storeFailure(error, fileSystemId, role)
  }
}
