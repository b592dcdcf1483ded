import { Type } from 'typebox'
import { expect, test } from 'vitest'
import type { HttpRoute } from '../../../subjects/kit/contract.ts'
import { pathFields, routeFields } from '../../../subjects/kit/route.ts'
import { strict } from '../../../subjects/kit/schemas.ts'

const text = Type.String({ maxLength: 10 })
const contract = { input: strict({ id: text, role: text, a: text, b: text }) }

const fieldsOf = (route: Omit<HttpRoute, 'server' | 'path'> & { path?: string }) =>
  routeFields(contract, { path: '/things/{id}', ...route })

test('the fields of a path, in its order', () => {
  expect(pathFields('/a/{x}/b/{y}')).toEqual(['x', 'y'])
  expect(pathFields('/a/b')).toEqual([])
})

test('GET and DELETE take all that is not in the path from the query', () => {
  for (const method of ['GET', 'DELETE'] as const) {
    expect(fieldsOf({ method })).toEqual({ path: ['id'], query: ['role', 'a', 'b'], body: [] })
  }
})

test('the others take it from the body', () => {
  for (const method of ['POST', 'PUT', 'PATCH'] as const) {
    expect(fieldsOf({ method })).toEqual({ path: ['id'], query: [], body: ['role', 'a', 'b'] })
  }
})

test('what is bound cannot be given anywhere', () => {
  expect(fieldsOf({ method: 'GET', bind: { role: 'x' } })).toEqual({
    path: ['id'],
    query: ['a', 'b'],
    body: [],
  })
  expect(fieldsOf({ method: 'POST', bind: { role: 'x' }, query: 'all' }).query).toEqual(['a', 'b'])
})

test('what the bearer carries cannot be given elsewhere', () => {
  expect(fieldsOf({ method: 'GET', bearer: 'a' })).toEqual({ path: ['id'], query: ['role', 'b'], body: [] })
})

test('a route names the fields of its query, the rest is the body, which a GET does not have', () => {
  expect(fieldsOf({ method: 'POST', query: ['a'] })).toEqual({
    path: ['id'],
    query: ['a'],
    body: ['role', 'b'],
  })
  expect(fieldsOf({ method: 'PUT', query: 'all' })).toEqual({
    path: ['id'],
    query: ['role', 'a', 'b'],
    body: [],
  })
  expect(fieldsOf({ method: 'GET', query: ['a'] })).toEqual({ path: ['id'], query: ['a'], body: [] })
})

test('an input without fields has none', () => {
  const route: HttpRoute = { method: 'GET', path: '/things' }
  expect(routeFields({ input: strict({}) }, route)).toEqual({ path: [], query: [], body: [] })
})
