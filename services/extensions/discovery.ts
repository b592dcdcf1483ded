import type { KnownService } from '../../broker/rpc/discover-others.ts'
import type { Caller } from '../../subjects/kit/contract.ts'
import { endpointContract } from '../../subjects/extensions/contract.ts'
import { contracts, internalContracts } from '../../subjects/index.ts'
import { product } from '../../subjects/kit/names.ts'
import type { Directory, LiveInstance } from './directory.ts'
import { sees, type ViewerOf } from './visibility.ts'

const ours = new Set([...contracts, ...internalContracts].map(({ resource }) => `${product}-${resource}`))

/** Whether a service of this name is the platform's own, and answers itself. */
export const isOurs = (name: string): boolean => ours.has(name)

/** The instances of extensions that somebody sees, as services. */
export const discoverableBy =
  (directory: Directory, viewerOf: ViewerOf) =>
  async (caller: Caller): Promise<KnownService[]> => {
    const viewer = caller.kind === 'platform' ? undefined : await viewerOf(caller.keyId)
    return directory
      .instances()
      .filter(({ prefix }) => viewer === undefined || sees(viewer, prefix))
      .map(serviceOf)
  }

const serviceOf = ({ prefix, instance, registration }: LiveInstance): KnownService => ({
  name: prefix,
  id: instance,
  version: registration.version,
  description: registration.description ?? registration.name,
  endpoints: (registration.endpoints ?? []).map((endpoint) => endpointContract(prefix, endpoint)),
})
