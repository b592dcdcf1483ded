/**
 * Ways in which a host has credentials: variables of the environment, a profile in a file of the service's user, a token that
 * an orchestrator puts into a file, a service that runs beside the container, the metadata of the machine.
 */
export const hostIdentities = ['environment', 'profile', 'web-identity', 'container', 'instance'] as const

/** Of these a host may have several, which the setting `hostCredentials` can tell apart by name. */
export const namedIdentities = ['profile', 'web-identity', 'instance'] as const satisfies HostIdentity[]

/** Roles and their ARNs, profiles, ids of clients. */
export const identityNamePattern = '[A-Za-z0-9_./:@+=,-]{1,300}'

export type HostIdentity = (typeof hostIdentities)[number]
