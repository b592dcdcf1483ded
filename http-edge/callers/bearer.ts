import type { FastifyRequest } from 'fastify'
import { GantryError } from '../../subjects/kit/errors.ts'

/** What follows a scheme (in small letters) in `Authorization`; undefined when it is another, or there is more than one word. */
export function credentialOf(request: FastifyRequest, asked: string): string | undefined {
  const [scheme, value, ...rest] = (request.headers.authorization ?? '').split(' ')
  return scheme?.toLowerCase() === asked && value && rest.length === 0 ? value : undefined
}

/** The credential of `Authorization: Bearer …`. @throws GantryError UNAUTHENTICATED when there is none in this form */
export function requireBearer(request: FastifyRequest, what = 'API token'): string {
  const token = credentialOf(request, 'bearer')
  if (token !== undefined) return token
  throw new GantryError('UNAUTHENTICATED', `send the header Authorization: Bearer <${what}>`)
}
