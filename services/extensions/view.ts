import type { Output } from '../../subjects/kit/contract.ts'
import type { Features } from '../../subjects/extensions/model.ts'
import type { extensions } from '../../subjects/extensions/extensions.ts'
import type { LiveInstance } from './directory.ts'

type Summary = Output<(typeof extensions)['list']>[number]
type Details = Output<(typeof extensions)['show']>

const aboutOf = ({ prefix, registration }: LiveInstance) => {
  const { name, version, description } = registration
  return { prefix, name, version, ...(description === undefined ? {} : { description }) }
}

/** An extension in a list. @param instances of one prefix, the newest first */
export function summaryOf(instances: readonly LiveInstance[]): Summary {
  const newest = instances[0]!
  return {
    ...aboutOf(newest),
    owner: newest.owner,
    instances: instances.length,
    since: instances.at(-1)!.registered,
  }
}

export function detailsOf(instances: readonly LiveInstance[]): Details {
  return {
    ...summaryOf(instances),
    instances: instances.map(({ instance, key, registered, seenMs, registration: { version } }) => ({
      id: instance,
      version,
      key,
      registered,
      seen: new Date(seenMs).toISOString(),
    })),
    endpoints: instances[0]!.registration.endpoints ?? [],
  }
}

export function featuresOf(instances: readonly LiveInstance[]): Features {
  const newest = instances[0]!
  const { menus = [], routes = [], widgets = [], resources = [], endpoints = [] } = newest.registration
  return {
    ...aboutOf(newest),
    menus,
    routes,
    widgets,
    // Pages are large, and fetched one by one.
    resources: resources.map(({ uri, mediaType }) => ({ uri, mediaType })),
    endpoints,
  }
}
