import type { TSchema } from 'typebox'
import type { Contract, HttpRoute, Input, Output } from '../../subjects/kit/contract.ts'
import type { Part } from '../../subjects/kit/download.ts'
import { fieldsOf, jsonSchema } from '../../subjects/kit/json-schema.ts'
import { pathFields, routeFields } from '../../subjects/kit/route.ts'
import type { CallOutcome, Download, Route } from '../server/definition.ts'
import type { OwnErrors } from './errors.ts'

/** Fields of a request, by name. */
export type Fields = Readonly<Record<string, TSchema>>

/** What a request says, by the names of the surface; fields that it leaves out are not there. */
export type Wire = Readonly<Record<string, unknown>>

/** Tells a caller of something that was taken and has no effect. */
export type Warn = (text: string) => void

/** How requests and replies of an operation differ from those of the contract that it calls. */
export interface Translation {
  /** Of operations that are one on the surface and several contracts: the one that the translated request is for, and its input. */
  readonly choose?: Route['choose']
  readonly request?: (wire: Wire, warn: Warn) => Wire
  readonly reply?: (native: never) => unknown
  /** Of an operation on several objects: the input of each, and what is told of what came of it. */
  readonly each?: {
    readonly inputs: (wire: Wire) => readonly Wire[]
    readonly tell: (outcome: CallOutcome) => object
  }
  /** Of a contract with `download`. */
  readonly download?: (part: Part, wire: Wire) => Download
}

/** One operation of a surface, as plain data: what it takes and answers there, and which contract does the work. */
export interface Operation {
  readonly id: string
  readonly method: HttpRoute['method']
  /** With `{field}` segments. */
  readonly path: string
  readonly summary: string
  readonly description?: string | undefined
  /** Fields in the path, the query and the body; in place of a query a form may have them too. */
  readonly parameters: Fields
  readonly query: Fields
  readonly body: Fields
  /** Those of them that have to be there. */
  readonly required: readonly string[]
  /** Fields that clients send and that change nothing here, each with what the caller is told of it. */
  readonly ineffective: Readonly<Record<string, string>>
  readonly status: 200 | 201
  /** How a body comes that has a file. */
  readonly sends?: 'multipart/form-data'
  /** The one field of the body, where the body is its list and no object. */
  readonly bare?: string
  readonly reply: TSchema
  /** Where they are not as the surface says for all. */
  readonly errors: OwnErrors
  /** What the translation refuses by itself: by status, why. */
  readonly refuses: Readonly<Record<number, string>>
  readonly public?: HttpRoute['public']
  /** Whether it answers 304 to who has the reply already. */
  readonly conditional?: true
  /** Fields of an example, where that of the contract does not say them. */
  readonly example: Wire
  readonly calls: Contract
  /** Fields of the contract that the path says, not the caller. */
  readonly bind: Readonly<Record<string, string | boolean | number>>
  readonly translate: Translation
}

/** What an operation has that does not follow from its contract. */
export interface Own<C extends Contract> extends Pick<
  HttpRoute,
  'query' | 'bind' | 'omit' | 'status' | 'public'
> {
  /** Default: that of the contract. */
  readonly summary?: string
  readonly description?: string
  /** Fields that have another shape than in the contract, or that only the surface has: where the contract has them, or in the query; and in the body. */
  readonly fields?: Fields
  readonly bodyFields?: Fields
  /** Fields of the surface that have to be there, beside those of the contract. */
  readonly needs?: readonly string[]
  /** Names of fields that the contract has and the surface has not. */
  readonly without?: readonly string[]
  /** Default: that of the contract. */
  readonly reply?: TSchema
  readonly errors?: Operation['errors']
  readonly refuses?: Operation['refuses']
  readonly ineffective?: Operation['ineffective']
  readonly sends?: Operation['sends']
  /** Tells the operation from another one of the same contract. */
  readonly variant?: string
  readonly conditional?: true
  readonly example?: Operation['example']
  readonly request?: (wire: Wire, warn: Warn) => Wire & Partial<Input<C>>
  readonly response?: (native: Output<C>) => unknown
  readonly choose?: Translation['choose']
  readonly each?: Translation['each']
  readonly bare?: Operation['bare']
  readonly download?: Translation['download']
}

/** An operation that calls a contract. Where nothing else is said, the fields are those of the contract. */
export function operation<C extends Contract>(
  calls: C,
  method: HttpRoute['method'],
  path: string,
  own: Own<C> = {},
): Operation {
  const { bind = {}, fields: more = {}, bodyFields = {}, without = [], status = 200 } = own
  const inContract = fieldsOf(calls.input) as Fields
  const shape = (names: readonly string[], others: Fields): Fields => {
    const known = names.filter((name) => !without.includes(name))
    return { ...Object.fromEntries(known.map((name) => [name, inContract[name]!])), ...others }
  }
  const placed = routeFields(calls, { ...own, method, path })
  const placeOf = (name: string) =>
    placed.path.includes(name) ? 'path' : placed.body.includes(name) ? 'body' : 'query'
  const moreIn = (place: ReturnType<typeof placeOf>): Fields =>
    Object.fromEntries(Object.entries(more).filter(([name]) => placeOf(name) === place))
  const query = shape(placed.query, moreIn('query'))
  const body = shape(placed.body, { ...moreIn('body'), ...bodyFields })
  const required = [...(jsonSchema(calls.input).required ?? []), ...pathFields(path), ...(own.needs ?? [])]
  const suffix = Object.values(bind).map((value) => `.${value}`)
  return {
    id: [
      `${calls.resource}.${calls.verb}${suffix.join('')}`,
      ...(own.variant === undefined ? [] : [own.variant]),
    ].join('.'),
    method,
    path,
    summary: own.summary ?? calls.summary,
    description: own.description ?? calls.description,
    parameters: shape(placed.path, moreIn('path')),
    query,
    body,
    required: required.filter((name) => !without.includes(name) && !Object.hasOwn(bind, name)),
    ineffective: own.ineffective ?? {},
    status,
    reply: own.reply ?? calls.output,
    errors: own.errors ?? {},
    refuses: own.refuses ?? {},
    example: own.example ?? {},
    ...(own.public === undefined ? {} : { public: own.public }),
    ...(own.sends === undefined ? {} : { sends: own.sends }),
    ...(own.bare === undefined ? {} : { bare: own.bare }),
    ...(own.conditional === undefined ? {} : { conditional: own.conditional }),
    calls,
    bind,
    translate: {
      ...(own.request === undefined ? {} : { request: own.request }),
      ...(own.response === undefined ? {} : { reply: own.response }),
      ...(own.download === undefined ? {} : { download: own.download }),
      ...(own.choose === undefined ? {} : { choose: own.choose }),
      ...(own.each === undefined ? {} : { each: own.each }),
    },
  }
}
