import type { Contract, HttpRoute } from './contract.ts'
import { partField } from './download.ts'
import { fieldsOf } from './json-schema.ts'

/** Names of the input fields by where a request of the route carries them; bound fields and that of the bearer are in none. */
export interface RouteFields {
  readonly path: string[]
  readonly query: string[]
  readonly body: string[]
}

/** Names of the `{field}` segments of a path, in order. */
export const pathFields = (path: string): string[] =>
  [...path.matchAll(/\{([^{}/]+)\}/g)].map(([, name]) => name!)

/**
 * Which fields of a contract's input are in the path, the query and the body on one of its routes (rule: see `HttpRoute`).
 * GET and DELETE have no body: what such a route's `query` leaves out cannot be given on it.
 */
export function routeFields(
  { input, download }: Pick<Contract, 'input' | 'download'>,
  route: HttpRoute,
): RouteFields {
  const bodiless = route.method === 'GET' || route.method === 'DELETE'
  const { query = bodiless ? 'all' : [], bind = {}, omit = [] } = route
  const path = pathFields(route.path)
  const others = Object.keys(fieldsOf(input)).filter(
    (name) =>
      !path.includes(name) &&
      !Object.hasOwn(bind, name) &&
      name !== route.bearer &&
      !omit.includes(name) &&
      (download === undefined || name !== partField),
  )
  const inQuery = (name: string) => query === 'all' || query.includes(name)
  return {
    path,
    query: others.filter(inQuery),
    body: bodiless ? [] : others.filter((name) => !inQuery(name)),
  }
}
