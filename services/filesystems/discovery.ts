import type { Call, Contract, Output } from '../../subjects/kit/contract.ts'
import { isGantryError } from '../../subjects/kit/errors.ts'
import {
  type DiscoverableKind,
  discoveredId,
  type Filesystem,
  type filesystems,
} from '../../subjects/filesystems/filesystems.ts'
import { type StoreKind, storeKinds } from '../drivers/index.ts'
import { creator } from './change.ts'
import type { FilesystemDependencies } from './dependencies.ts'
import { publicProperties } from './record.ts'

interface Input {
  fileSystemId?: string
  scanOnly?: boolean
  otherProperties?: Record<string, string>
  /** The rest are the kind's options. */
  additionalProperties?: Record<string, string>
}

const discovered = <K extends DiscoverableKind>(kind: K) => {
  const its: StoreKind<K> = storeKinds[kind]
  const found = its.discover?.()
  if (found === undefined) throw new Error(`${kind} says that it is found on the host, and is not`)
  return found
}

/** Makes a source with what the configuration of the host says, and with what is given. */
export function discoverer(kind: DiscoverableKind, dependencies: FilesystemDependencies) {
  const create = creator(kind, dependencies)
  return async (
    { fileSystemId = discoveredId(kind), ...given }: Input,
    call: Pick<Call<Contract>, 'caller' | 'signal'>,
  ): Promise<Filesystem> => {
    const { options } = await discovered(kind)
    const properties = { ...options.additionalProperties, ...given.additionalProperties }
    const additional = Object.keys(properties).length === 0 ? {} : { additionalProperties: properties }
    return create({ ...options, ...given, ...additional, fileSystemId, role: 'source' }, call)
  }
}

/** What the configuration of the host says; where it says nothing, why. */
export async function discoveryOf(
  kind: DiscoverableKind,
): Promise<Output<(typeof filesystems)[`discovery-${DiscoverableKind}`]>> {
  try {
    const { options, message } = await discovered(kind)
    return { found: true, message, properties: publicProperties({ kind, options }) }
  } catch (error) {
    if (!isGantryError(error, 'NOT_ACCEPTED')) throw error
    return { found: false, message: error.message, properties: {} }
  }
}
