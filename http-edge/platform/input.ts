import type { FastifyInstance, FastifyRequest } from 'fastify'
import { coerceField, type Fits } from '../../subjects/kit/coerce.ts'
import type { Contract, HttpRoute } from '../../subjects/kit/contract.ts'
import { type Problem, invalid } from '../../subjects/kit/errors.ts'
import { routeFields } from '../../subjects/kit/route.ts'
import { maxProblems } from '../../subjects/kit/validate.ts'
import { requireBearer } from '../callers/bearer.ts'
import type { Charged } from '../callers/charging.ts'
import { jsonOf, takeBody } from '../server/body.ts'

/** Takes JSON and nothing else; many clients announce JSON and send nothing, which is no body. */
export function addBodyParsers(app: FastifyInstance, charged: Charged): void {
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) =>
    takeBody(request, Buffer.from(body), { charged, parse: jsonOf, done }),
  )
}

/**
 * Puts the input together: `{...query, ...body, ...path, ...bind, ...bearer}`. A field comes from its place alone.
 * @param newFits how the alternatives of one request are told from each other, where not everything may be tried
 */
export function inputReader(
  contract: Contract,
  route: HttpRoute,
  newFits?: () => Fits,
): (request: FastifyRequest) => Record<string, unknown> {
  const fields = routeFields(contract, route)
  const properties = (contract.input as { properties?: Record<string, object> }).properties ?? {}
  const inQuery = new Set(fields.query)
  const { bind = {}, bearer, omit = [] } = route
  const elsewhere = new Set([...fields.path, ...fields.query, ...Object.keys(bind), ...omit, bearer])
  const takesBody = route.method !== 'GET' && route.method !== 'DELETE' && fields.body.length > 0
  return (request) => {
    // Without a prototype, so that a field named __proto__ is a field like any other.
    const input = Object.create(null) as Record<string, unknown>
    const problems: Problem[] = []
    const fits = newFits?.()
    for (const [name, text] of Object.entries(request.query as Record<string, string | string[]>)) {
      if (inQuery.has(name)) input[name] = coerceField(properties[name] as Contract['input'], text, fits)
      else problems.push({ field: name, problem: notHere('query', fields.query) })
      if (problems.length === maxProblems) throw invalid(problems)
    }
    const { body } = request
    if (body !== undefined) {
      if (typeof body !== 'object' || body === null || Array.isArray(body)) {
        problems.push({ field: 'body', problem: 'must be a JSON object' })
      } else {
        for (const [name, value] of Object.entries(body)) {
          if (!takesBody || elsewhere.has(name)) {
            problems.push({ field: name, problem: notHere('body', fields.body) })
          } else input[name] = value
          if (problems.length === maxProblems) throw invalid(problems)
        }
      }
    }
    if (problems.length > 0) throw invalid(problems)
    const params = request.params as Record<string, string>
    for (const name of fields.path) {
      input[name] = coerceField(properties[name] as Contract['input'], params[name] ?? '', fits)
    }
    if (bearer !== undefined) input[bearer] = requireBearer(request, 'token of the identity provider')
    return Object.assign(input, bind)
  }
}

const notHere = (place: string, known: readonly string[]): string =>
  known.length === 0
    ? `is not allowed: this operation has no ${place} fields`
    : `is not a ${place} field of this operation; use ${known.join(', ')}`
