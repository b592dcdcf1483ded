/**
 * A document as pure JSON. Enumerations of texts say that they are texts: generators of typed clients look at `type`
 * alone, and TypeBox leaves it out. Integers that may be larger than 32 bits say that too, as those generators take no
 * other hint.
 */
export function plain(document: object): object {
  return rebuilt(document, typed) as object
}

/**
 * A copy of plain data in which `change` has replaced each value, those inside first. `JSON.parse` with a function does the
 * same in many times the time, and with a thousand extensions everybody else waits for that.
 */
function rebuilt(
  value: unknown,
  change: (value: unknown) => unknown,
  done = new Map<object, unknown>(),
): unknown {
  if (Array.isArray(value)) return change(value.map((item: unknown) => rebuilt(item, change, done)))
  if (typeof value !== 'object' || value === null) return change(value)
  // What stands in many places is made once.
  if (done.has(value)) return done.get(value)
  const there = Object.entries(value).filter(([, inner]) => inner !== undefined)
  const copy = change(Object.fromEntries(there.map(([key, inner]) => [key, rebuilt(inner, change, done)])))
  done.set(value, copy)
  return copy
}

function typed(value: unknown): unknown {
  if (isUntypedEnum(value)) return { type: 'string', ...value }
  return isLongInteger(value) ? { ...value, format: 'int64' } : value
}

const maxInt32 = 2 ** 31 - 1

/** Of a schema, which may say nothing of its bounds. */
const isLongInteger = (value: unknown): value is { type: 'integer'; maximum?: unknown } =>
  typeof value === 'object' &&
  value !== null &&
  'type' in value &&
  value.type === 'integer' &&
  !('format' in value) &&
  !('maximum' in value && typeof value.maximum === 'number' && value.maximum <= maxInt32)

const isUntypedEnum = (value: unknown): value is { enum: string[] } =>
  typeof value === 'object' &&
  value !== null &&
  !('type' in value) &&
  'enum' in value &&
  Array.isArray(value.enum) &&
  value.enum.every((member) => typeof member === 'string')

interface Document {
  readonly components: { readonly schemas: object; readonly [kind: string]: object }
  readonly [part: string]: unknown
}

/**
 * The same for a document with components: an object schema with a title goes there once, under that name, and every
 * place where it stood refers to it. One that differs from what has the name already stays where it is.
 */
export function withModels(document: Document): object {
  const models: Models = new Map()
  const { components, ...rest } = referring(document, models, (title) =>
    Object.hasOwn(document.components.schemas, title) ? undefined : title,
  ) as Document
  return {
    ...rest,
    components: { ...components, schemas: { ...components.schemas, ...Object.fromEntries(models) } },
  }
}

/** Schemas that are referred to, by their names among the components. */
export type Models = Map<string, object>

/**
 * A copy of a part of a document that refers to its models, which are added to those that are known.
 * @param nameOf the name of a model by its title; undefined for one that stays where it is
 */
export function referring(
  part: object,
  models: Models,
  nameOf: (title: string) => string | undefined,
): object {
  return rebuilt(part, (inner) => {
    const value = typed(inner)
    const name = isModel(value) ? nameOf(value.title) : undefined
    if (name === undefined) return value
    const model = value as object
    const known = models.get(name) ?? model
    if (JSON.stringify(known) !== JSON.stringify(model)) return model
    models.set(name, known)
    return { $ref: `#/components/schemas/${name}` }
  }) as object
}

const isModel = (value: unknown): value is { title: string } =>
  typeof value === 'object' &&
  value !== null &&
  'type' in value &&
  value.type === 'object' &&
  'title' in value &&
  typeof value.title === 'string' &&
  /^[A-Za-z0-9._-]+$/.test(value.title)
