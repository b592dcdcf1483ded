/**
 * Ways in which a host has credentials: variables of the environment, a profile in a file of the service's user, a token that
 * an orchestrator puts into a file, a service that runs beside the container, the metadata of the machine.
 */
export const hostIdentities = ['environment', 'profile', 'web-identity', 'container', 'instance'] as const

export type HostIdentity = (typeof hostIdentities)[number]
