import type { FastifyRequest } from 'fastify'
import { GantryError } from '../subjects/errors.ts'

/** The credential of `Authorization: Bearer …`. @throws GantryError UNAUTHENTICATED when there is none in this form */
export function requireBearer(request: FastifyRequest, what = 'API token'): string {
  const [scheme, token, ...rest] = (request.headers.authorization ?? '').split(' ')
  if (scheme?.toLowerCase() === 'bearer' && token && rest.length === 0) return token
  throw new GantryError('UNAUTHENTICATED', `send the header Authorization: Bearer <${what}>`)
}
