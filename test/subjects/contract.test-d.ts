/**
 * What must not compile. `tsc` checks this file (`npm run check`): a line below `@ts-expect-error` that does compile is an
 * error itself. Nothing here is ever run.
 */
import { Type } from 'typebox'
import { expectTypeOf } from 'vitest'
import type { keys } from '../../subjects/access/keys.ts'
import {
  type Handler,
  type Handlers,
  type Input,
  type Output,
  resource,
} from '../../subjects/kit/contract.ts'
import type { filesystems } from '../../subjects/filesystems/filesystems.ts'
import { strict } from '../../subjects/kit/schemas.ts'

const things = resource('things', {
  get: {
    summary: 'One thing',
    input: strict({ id: Type.String(), verbose: Type.Optional(Type.Boolean()) }),
    output: strict({ id: Type.String(), size: Type.Integer() }),
    errors: ['NOT_FOUND'],
    http: [],
  },
  delete: {
    summary: 'Forget a thing',
    input: strict({ id: Type.String() }),
    output: strict({}),
    errors: [],
    http: [],
  },
})
type Things = typeof things
type Get = Things['get']

const get: Handler<Get> = ({ id }) => ({ id, size: 1 })
const remove: Handler<Things['delete']> = () => ({})

/** A complete implementation. */
export const complete: Handlers<Things> = { get, delete: remove }

// @ts-expect-error a verb is missing
export const missing: Handlers<Things> = { get }

export const superfluous: Handlers<Things> = {
  get,
  delete: remove,
  // @ts-expect-error there is no such verb
  rename: () => ({}),
}

// @ts-expect-error the reply lacks a field
export const incomplete: Handler<Get> = ({ id }) => ({ id })

// @ts-expect-error a field of the reply has another type
export const wrongReply: Handler<Get> = async ({ id }) => ({ id, size: '1' })

// @ts-expect-error the handler of another verb
export const mixedUp: Handlers<Things> = { get: remove, delete: remove }

export const wrongInput: Handler<Get> = (input) => {
  // @ts-expect-error the input has no such field
  const { name } = input
  return { id: String(name), size: 1 }
}

export const optional: Handler<Get> = ({ id, verbose }) => {
  // @ts-expect-error it may be missing
  const given: boolean = verbose
  return { id, size: Number(given) }
}

/** Declared codes, and those that any call may answer. */
export const declared: Handler<Get> = (_, call) => {
  throw Math.random() < 0.5 ? call.fail('NOT_FOUND', 'there is none') : call.fail('UNAVAILABLE', 'not now')
}

export const undeclared: Handler<Get> = (_, call) => {
  // @ts-expect-error the contract does not declare it
  throw call.fail('IN_USE', 'something needs it')
}

export const ofAnother: Handler<Things['delete']> = (_, call) => {
  // @ts-expect-error only `get` declares it
  throw call.fail('NOT_FOUND', 'there is none')
}

export const unknownCode: Handler<Get> = (_, call) => {
  // @ts-expect-error there is no such error
  throw call.fail('NOT_THERE', 'there is none')
}

export const impostor: Handler<Get> = ({ id }, { caller }) => {
  // @ts-expect-error the platform itself has no key
  const { keyId } = caller
  return { id: `${id}${String(keyId)}`, size: 1 }
}

resource('things', {
  // @ts-expect-error there is no such error in the table
  get: { summary: 'One thing', input: strict({}), output: strict({}), errors: ['NOT_THERE'], http: [] },
})

resource('things', {
  // @ts-expect-error the input is always an object
  get: { summary: 'One thing', input: Type.String(), output: strict({}), errors: [], http: [] },
})

resource('things', {
  get: {
    summary: 'One thing',
    input: strict({}),
    output: strict({}),
    errors: [],
    // @ts-expect-error there is no such method
    http: [{ method: 'FETCH', path: '/things' }],
  },
})

// Names and codes are literal types, and do not become `string` on the way.
expectTypeOf<Input<Get>>().toEqualTypeOf<{ id: string; verbose?: boolean }>()
expectTypeOf<Output<Get>>().toEqualTypeOf<{ id: string; size: number }>()
expectTypeOf<Get['errors'][number]>().toEqualTypeOf<'NOT_FOUND'>()
expectTypeOf<(typeof keys)['rotate']['errors'][number]>().toEqualTypeOf<
  'NOT_FOUND' | 'EXCEEDS_ROLE' | 'NOT_ALLOWED_IN_STATE'
>()
expectTypeOf<Input<(typeof keys)['revoke']>>().toEqualTypeOf<{ id: string }>()
expectTypeOf<Input<(typeof filesystems)['create-local']>['role']>().toEqualTypeOf<'source' | 'target'>()
expectTypeOf<Input<(typeof filesystems)['create-adls2-shared-key']>['accountName']>().toEqualTypeOf<string>()
// @ts-expect-error a local folder has no account
export type NoAccount = Input<(typeof filesystems)['create-local']>['accountName']
