import type { JsonSchema } from '../kit/json-schema.ts'
import { patternSteps } from './pattern-cost.ts'

/**
 * How long it takes to hold a value against a schema, known before it is done: what others send is held against what others
 * have written, in a process that serves everybody. A step is 5 ns or so, one of a pattern; the rest was measured with
 * TypeBox 1.4.
 */
const steps = {
  /** A value and a schema, when it only has to be known whether it fits. */
  look: 16,
  /** The same when all that is wrong has to be told, each with its place. */
  tell: 400,
  /** A value and one that it may be equal to. */
  compare: 10,
  /** A name of an object whose names count, where there are many. */
  name: 60,
  /** A character that is counted. */
  character: 1,
  /** A character of a text with a format: the slowest are names of hosts. */
  formatOfCharacter: 40,
  /** To tell a value from all others of a list, by a digest. */
  digest: 400,
  digestOfCharacter: 3,
} as const

/** As in a digest, where the places of what is there twice are told, one after the other. */
const repeatedOf = (count: number): number => count ** 2 / 2

export interface CheckCost {
  /** Steps until it is known whether it fits; Infinity when there are more than the limit. */
  readonly look: number
  /** Steps until it is told what does not. */
  readonly tell: number
}

/** An upper bound of what it takes to hold a value of JSON against a schema without `$ref`. */
export function checkCost(schema: JsonSchema, value: unknown, limit: number): CheckCost {
  const meter = new Meter(limit)
  meter.hold(schema, value)
  return meter.isOver ? { look: Infinity, tell: Infinity } : meter
}

/** What a schema says that costs something, beside what JsonSchema has. */
interface Costly extends JsonSchema {
  readonly allOf?: readonly JsonSchema[]
  readonly not?: JsonSchema
  readonly prefixItems?: readonly JsonSchema[]
  readonly uniqueItems?: boolean
  readonly pattern?: string
  readonly format?: string
  readonly minLength?: number
  readonly maxLength?: number
}

const patterns = new WeakMap<object, (length: number) => number>()
const sizes = new WeakMap<object, number>()

class Meter {
  look = 0
  tell = 0
  readonly #limit: number

  constructor(limit: number) {
    this.#limit = limit
  }

  get isOver(): boolean {
    return !(this.look <= this.#limit)
  }

  hold(schema: JsonSchema | boolean, value: unknown): void {
    this.look += steps.look
    this.tell += steps.tell
    if (typeof schema === 'boolean' || this.isOver) return
    const { allOf, anyOf, oneOf, not } = schema as Costly
    if (schema.const !== undefined || schema.enum !== undefined) this.#both(steps.compare * sizeOf(schema))
    for (const all of [allOf, anyOf, oneOf])
      if (all !== undefined) for (const one of all) this.hold(one, value)
    if (not !== undefined) this.hold(not, value)
    if (typeof value === 'string') this.#text(schema, value)
    else if (Array.isArray(value)) this.#list(schema, value)
    else if (typeof value === 'object' && value !== null)
      this.#object(schema, value as Record<string, unknown>)
  }

  #both(more: number): void {
    this.look += more
    this.tell += more
  }

  #text(schema: Costly, text: string): void {
    const { pattern, format, minLength, maxLength } = schema
    if (minLength !== undefined || maxLength !== undefined) this.#both(steps.character * text.length)
    if (format !== undefined) this.#both(steps.formatOfCharacter * text.length)
    if (pattern === undefined) return
    let stepsAt = patterns.get(schema)
    if (stepsAt === undefined) patterns.set(schema, (stepsAt = patternSteps(pattern)))
    // It takes some time to find out as well: a step for each part of the pattern.
    this.#both(pattern.length + stepsAt(text.length))
  }

  #list(schema: Costly, list: readonly unknown[]): void {
    const { items, prefixItems = [], uniqueItems } = schema
    for (const [index, one] of prefixItems.entries()) if (index < list.length) this.hold(one, list[index])
    if (items !== undefined)
      for (let index = prefixItems.length; index < list.length && !this.isOver; index++)
        this.hold(items, list[index])
    if (uniqueItems !== true) return
    this.tell += repeatedOf(list.length)
    this.#digest(list)
  }

  #digest(value: unknown): void {
    this.#both(steps.digest)
    if (typeof value === 'string') this.#both(steps.digestOfCharacter * value.length)
    if (typeof value !== 'object' || value === null) return
    for (const [name, inside] of Object.entries(value)) {
      if (this.isOver) return
      if (!Array.isArray(value)) this.#digest(name)
      this.#digest(inside)
    }
  }

  #object(schema: Costly, object: Readonly<Record<string, unknown>>): void {
    const { properties = {}, required = [], additionalProperties } = schema
    this.#both(steps.look * required.length)
    let known = 0
    for (const name in properties) {
      known += 1
      if (Object.hasOwn(object, name)) this.hold(properties[name]!, object[name])
      else this.#both(steps.look)
    }
    if (additionalProperties === undefined || additionalProperties === true) return
    const names = Object.keys(object)
    // Each name is held against all that are known.
    this.#both(names.length * (steps.name + steps.compare * known))
    for (const name of names) {
      if (this.isOver) return
      if (!Object.hasOwn(properties, name)) this.hold(additionalProperties, object[name])
    }
  }
}

/** Values in those that another may be equal to. */
function sizeOf(schema: JsonSchema): number {
  const known = sizes.get(schema)
  if (known !== undefined) return known
  let size = 0
  JSON.stringify([schema.const, schema.enum], (_, value: unknown) => {
    size += 1
    return value
  })
  sizes.set(schema, size)
  return size
}
