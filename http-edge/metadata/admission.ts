import type { FastifyRequest } from 'fastify'
import { anonymous, authenticated, type MetadataAccess } from '../../config/metadata-access.ts'
import { GantryError } from '../../subjects/kit/errors.ts'
import { httpServers } from '../../subjects/kit/names.ts'
import type { Authority } from '../callers/authority.ts'
import { isOfDocs } from '../documents/docs.ts'
import type { Edge } from '../server/definition.ts'
import { pathOf } from '../server/failures.ts'
import { entryFor } from './access-map.ts'

const { docsPath } = httpServers.metadata

/**
 * The path that the router has taken a request for, whichever way it was written: an address with a host, or with a `#`, leads
 * to the same route. What the page of the reference is made of is reached by whoever reaches the page.
 */
function judgedPath(request: FastifyRequest): string {
  const { url } = request.routeOptions
  if (isOfDocs(url)) return docsPath
  if (url === undefined) return pathOf(request)
  const params = request.params as Readonly<Record<string, string>>
  return url
    .split('/')
    .map((part) => (part.startsWith(':') ? encodeURIComponent(params[part.slice(1)] ?? '') : part))
    .join('/')
}

/**
 * Holds requests to the map of access: it is asked before anything else, and can only refuse. Whoever it lets through without
 * a sign-in reaches pages; an operation asks all the same who is calling, and the broker what that key may do.
 * @throws GantryError UNAUTHENTICATED, DENIED
 */
export const admission =
  (
    access: MetadataAccess,
    authority: Authority,
    { keyIdOf, rolesOf }: Pick<Edge, 'keyIdOf' | 'rolesOf'>,
  ): ((request: FastifyRequest) => Promise<void>) =>
  async (request) => {
    if (!access.enabled) return
    const path = judgedPath(request)
    const deciding = access.maps.map((entries) => entryFor(entries, request.method, path)?.access ?? [])
    if (deciding.every((allowed) => allowed.includes(anonymous))) return
    request.caller = await authority(request)
    const signedIn = deciding.filter((allowed) => !allowed.includes(anonymous))
    if (signedIn.every((allowed) => allowed.includes(authenticated))) return
    const keyId = keyIdOf(request.caller)
    const roles = keyId === undefined ? [] : await rolesOf(keyId)
    const isAllowed = (allowed: readonly string[]) =>
      allowed.includes(authenticated) || allowed.some((one) => roles.includes(one))
    if (signedIn.every(isAllowed)) return
    throw new GantryError(
      'DENIED',
      `the access map in ${httpServers.metadata.propertiesFile} does not allow your roles to call ${request.method} ${path}`,
    )
  }
