import { createHash } from 'node:crypto'

/** Part of a document, or a schema: plain JSON. */
export type Json = Readonly<Record<string, unknown>>

interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Json>> }
}
interface Operation {
  readonly operationId: string
  readonly parameters?: readonly {
    name: string
    in: string
    required?: boolean
    schema?: Json
    content?: Content
  }[]
  readonly requestBody?: { required?: boolean; content: Content }
  readonly responses: Readonly<Record<string, { $ref?: string; content?: Content }>>
  readonly security?: readonly Json[]
}
type Content = Readonly<Record<string, { schema?: Json }>>

interface AsyncApi {
  readonly channels: Readonly<
    Record<string, { address: string | null; messages: Readonly<Record<string, Message>> }>
  >
  readonly operations: Readonly<
    Record<string, { action: string; channel: Json; reply?: { channel: Json }; 'x-deadline-ms'?: number }>
  >
  readonly components: { readonly schemas: Readonly<Record<string, Json>> }
}
interface Message {
  readonly $ref?: string
  readonly headers?: Json
  readonly payload?: Json
}

/** What says nothing about what is accepted, or is said by the place where the schema stands. */
const untold = new Set(
  'description title examples required type additionalProperties patternProperties'.split(' '),
)

/** Of a contract: first in its line, in a document of its own, or written and read at the contract. */
const toldElsewhere = new Set('subject summary description input output payload'.split(' '))

/**
 * What documents say, in a line for each operation and each model, so that the change of a word is the change of a line.
 * Descriptions are left out: they are written, and read, at the contracts.
 */
export class Summary {
  readonly #patterns = new Map<string, string>()
  readonly #models = new Map<string, string>()

  /** The operations of an OpenAPI document. What they all may answer stands in the first line, once. */
  openApi(document: object): string {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- validators have looked at the document
    const { paths, components } = document as OpenApi
    this.#addModels(components.schemas)
    const operations = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
    )
    const usual = Object.entries(operations[0]?.operation.responses ?? {})
      .filter(([status, { $ref }]) =>
        operations.every(({ operation }) => $ref !== undefined && operation.responses[status]?.$ref === $ref),
      )
      .map(([status]) => status)
    const told = (responses: Operation['responses'], which: (status: string) => boolean) =>
      Object.entries(responses)
        .filter(([status]) => which(status))
        .map(
          ([status, { $ref, content }]) =>
            `${status} ${$ref === undefined ? this.#content(content) : nameOf($ref)}`,
        )
        .join(', ')
    const lines = operations.map(({ path, method, operation }) => {
      const { operationId, parameters = [], requestBody, responses, security } = operation
      const given = parameters.map(
        (one) =>
          `${one.in} ${one.name}${one.required === true ? '' : '?'}: ${one.schema === undefined ? this.#content(one.content) : this.#type(one.schema)}`,
      )
      if (requestBody !== undefined) {
        given.push(`body${requestBody.required === true ? '' : '?'}: ${this.#content(requestBody.content)}`)
      }
      const authority = security === undefined ? '' : ` [security: ${JSON.stringify(security)}]`
      const answers = told(responses, (status) => !usual.includes(status))
      return `${method.toUpperCase()} ${path} = ${operationId}(${given.join(', ')}) -> ${answers}${authority}`
    })
    const all = told(operations[0]?.operation.responses ?? {}, (status) => usual.includes(status))
    return text([`every operation -> ${all}`, ...lines])
  }

  /** The operations of an AsyncAPI document. */
  asyncApi(document: object): string {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- validators have looked at the document
    const { channels, operations, components } = document as AsyncApi
    this.#addModels(components.schemas)
    const messages = (channel: Json) =>
      Object.entries(channels[nameOf(channel['$ref'])]?.messages ?? {})
        .map(([name, { $ref, headers, payload }]) => {
          if ($ref !== undefined) return `${name} ${nameOf($ref)}`
          const own = headers === undefined || '$ref' in headers ? '' : ` with ${this.#type(headers)}`
          return `${name} ${this.#type(payload ?? {})}${own}`
        })
        .join(', ')
    const lines = Object.entries(operations).map(([name, operation]) => {
      const { action, channel, reply, 'x-deadline-ms': deadline } = operation
      const address = channels[nameOf(channel['$ref'])]?.address
      const answer = reply === undefined ? '' : ` -> ${messages(reply.channel)}`
      const until = deadline === undefined ? '' : ` [${deadline} ms]`
      return `${action} ${address} = ${name}(${messages(channel)})${answer}${until}`
    })
    return text(lines)
  }

  /** What the catalogue says beside schemas: names and numbers first, then a line for each contract and each event. */
  catalogue({ contracts, events, ...head }: Json): string {
    const heads = Object.entries(head).flatMap(([key, value]) =>
      typeof value === 'object' && value !== null && !Array.isArray(value)
        ? Object.entries(value).map(([inner, one]) => `${key}.${inner} = ${JSON.stringify(one)}`)
        : [`${key} = ${JSON.stringify(value)}`],
    )
    const lines = as<Json[]>([...as<Json[]>(contracts), ...as<Json[]>(events)]).map((one) =>
      [
        one['subject'],
        ...Object.entries(one)
          .filter(([key]) => !toldElsewhere.has(key))
          .map(([key, value]) => `${key}: ${JSON.stringify(value)}`),
      ].join(' '),
    )
    return text([...heads, ...lines])
  }

  /** All models of the documents that were summarised before, each once, and the patterns that they name. */
  models(): string {
    const models = Array.from(this.#models, ([name, type]) => `${name} = ${type}`)
    const patterns = Array.from(this.#patterns, ([name, pattern]) => `${name} = ${pattern}`)
    return text([...models.toSorted(), ...patterns.toSorted()])
  }

  /** A model that two documents show is the same in both, or has two lines. */
  #addModels(schemas: Readonly<Record<string, Json>>): void {
    for (const [name, schema] of Object.entries(schemas)) {
      const type = this.#type(schema)
      let line = name
      while (this.#models.has(line) && this.#models.get(line) !== type) line += ' (also)'
      this.#models.set(line, type)
    }
  }

  #content(content: Content | undefined): string {
    if (content === undefined) return 'nothing'
    return Object.entries(content)
      .map(([media, { schema }]) => {
        const type = schema === undefined ? '' : this.#type(schema)
        return media === 'application/json' ? type : `${media} ${type}`.trim()
      })
      .join(' or ')
  }

  /** A schema as one would write it as a type, with its bounds in brackets. */
  #type(schema: Json): string {
    const { $ref, anyOf, allOf, enum: values, const: value, items, properties, ...bounds } = schema
    const type = typeof schema['type'] === 'string' ? schema['type'] : ''
    const list = (of: unknown, sign: string) =>
      as<Json[]>(of)
        .map((each) => this.#type(each))
        .join(sign)
    const parts: string[] = []
    if ($ref !== undefined) parts.push(nameOf($ref))
    else if (anyOf !== undefined) parts.push(list(anyOf, ' | '))
    else if (allOf !== undefined) parts.push(list(allOf, ' & '))
    else if (values !== undefined)
      parts.push(
        as<unknown[]>(values)
          .map((each) => JSON.stringify(each))
          .join('|'),
      )
    else if ('const' in schema) parts.push(JSON.stringify(value))
    else if (items !== undefined) parts.push(`[${this.#type(as<Json>(items))}]`)
    else if (type === 'object' || properties !== undefined) {
      parts.push(this.#object(as<Record<string, Json>>(properties ?? {}), schema))
    } else parts.push(type === '' ? 'any' : type)
    const ranges = [
      ['minLength', 'maxLength'],
      ['minimum', 'maximum'],
      ['minItems', 'maxItems'],
      ['minProperties', 'maxProperties'],
    ].flatMap(([least = '', most = '']) =>
      least in bounds || most in bounds ? [`${bound(bounds[least])}..${bound(bounds[most])}`] : [],
    )
    const others = Object.entries(bounds)
      // That an integer is a long one, its bounds say.
      .filter(([key, of]) => !untold.has(key) && !/^m(?:in|ax)[A-Zi]/.test(key) && of !== 'int64')
      .map(([key, value]) =>
        key === 'pattern' ? this.#pattern(String(value)) : `${key} ${JSON.stringify(value)}`,
      )
    const told = [...ranges, ...others].join(', ')
    return told === '' ? parts.join('') : `${parts.join('')}(${told})`
  }

  #object(properties: Record<string, Json>, schema: Json): string {
    const required = new Set(as<string[]>(schema['required'] ?? []))
    const fields = Object.entries(properties).map(
      ([name, field]) => `${name}${required.has(name) ? '' : '?'}: ${this.#type(field)}`,
    )
    const patterns = as<Record<string, Json>>(schema['patternProperties'] ?? {})
    for (const [pattern, field] of Object.entries(patterns)) {
      fields.push(`[${this.#pattern(pattern)}]: ${this.#type(field)}`)
    }
    const others = schema['additionalProperties']
    if (typeof others === 'object') fields.push(`[any]: ${this.#type(as<Json>(others))}`)
    else if (others !== false) fields.push('…')
    return `{ ${fields.join(', ')} }`
  }

  /** A pattern of a few signs as it is; a longer one by a name made from it, which stands in the list of models. */
  #pattern(pattern: string): string {
    if (pattern.length <= 24) return pattern
    const name = `/${createHash('sha256').update(pattern).digest('hex').slice(0, 6)}/`
    this.#patterns.set(name, pattern)
    return name
  }
}

// oxlint-disable-next-line typescript/no-unsafe-type-assertion, typescript/no-unnecessary-type-parameters -- validators have looked at the document
const as = <T>(value: unknown): T => value as T
const bound = (value: unknown): string =>
  value === undefined
    ? ''
    : Math.abs(Number(value)) === Number.MAX_SAFE_INTEGER
      ? 'max'
      : JSON.stringify(value)
const nameOf = (reference: unknown): string => String(reference).split('/').at(-1) ?? ''
const text = (lines: readonly string[]): string => `${lines.join('\n')}\n`
