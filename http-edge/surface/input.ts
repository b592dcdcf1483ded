import { parse } from 'node:querystring'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { GantryError } from '../../subjects/kit/errors.ts'
import { jsonSchema } from '../../subjects/kit/json-schema.ts'
import { shortened } from '../../subjects/kit/shortened.ts'
import type { Charged } from '../callers/charging.ts'
import { jsonOf, takeBody, textOfBody } from '../server/body.ts'
import { fromJson, fromText, isAbsent } from './lenient.ts'
import type { Fields, Operation, Wire } from './operation.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** What the caller is told beside the answer. */
    warnings?: string[]
  }
}

type Texts = Record<string, string | string[] | undefined>

/** Fields of a form, which say the same as those of a query. */
export class Form {
  readonly fields: Texts

  constructor(fields: Texts) {
    this.fields = fields
  }
}

/** A form with files, these in base64. @throws GantryError INVALID_INPUT */
async function formWithFiles(body: Buffer, contentType: string): Promise<Form> {
  const headers = { 'content-type': contentType }
  const data = await new Response(new Uint8Array(body), { headers }).formData().catch((cause: unknown) => {
    throw new GantryError('INVALID_INPUT', 'input: the body does not match its Content-Type', {
      cause,
    })
  })
  const fields = new Map<string, string[]>()
  for (const [name, value] of data) {
    const text = typeof value === 'string' ? value : Buffer.from(await value.arrayBuffer()).toString('base64')
    const texts = fields.get(name)
    if (texts === undefined) fields.set(name, [text])
    else texts.push(text)
  }
  const oneOrAll = ([name, texts]: [string, string[]]) =>
    [name, texts.length === 1 ? texts[0] : texts] as const
  return new Form(Object.fromEntries([...fields].map(oneOrAll)))
}

/** A body with files is small like any other: it is read whole. */
const multipart = 'multipart/form-data'

/** Takes JSON and forms, also with files; clients announce either and send nothing, which is no body. */
export function addBodyParsers(app: FastifyInstance, charged: Charged): void {
  const parsers: Record<string, (body: Buffer) => unknown> = {
    'application/json': jsonOf,
    'application/x-www-form-urlencoded': (body) => new Form(parse(textOfBody(body))),
    '*': (body) => {
      if (body.length === 0) return undefined
      throw new GantryError(
        'INVALID_INPUT',
        'body: send JSON, with the header Content-Type: application/json',
      )
    },
  }
  for (const [type, read] of Object.entries(parsers)) {
    app.addContentTypeParser(type, { parseAs: 'buffer' }, (request, body, done) =>
      takeBody(request, Buffer.from(body), { charged, parse: read, done }),
    )
  }
  app.addContentTypeParser(
    multipart,
    { parseAs: 'buffer' },
    async (request: FastifyRequest, body: Buffer) => {
      request.bodyBytes = body.length
      return formWithFiles(body, request.headers['content-type'] ?? multipart)
    },
  )
}

/** Warnings that one answer has: a header has to stay one. */
const maxWarnings = 10
const maxWarningLength = 200

/** The value of a `Warning` header (RFC 7234); undefined when there is nothing to tell. */
export function warningHeader({ warnings = [] }: FastifyRequest): string[] | undefined {
  if (warnings.length === 0) return undefined
  return [...new Set(warnings)].slice(0, maxWarnings).map((text) => {
    const plain = shortened(text, maxWarningLength).replaceAll(/[^\x20-\x7e]/g, '?')
    return `299 gantry "${plain.replaceAll(/["\\]/g, String.raw`\$&`)}"`
  })
}

/** Puts the input of the contract together, taking whatever can be understood; what is left over, the caller is told of. */
export function lenientReader(operation: Operation): (request: FastifyRequest) => Wire {
  const { query, body, parameters, ineffective, bind, translate, required, bare } = operation
  // A form has what is in the query of others, and what programs would write as JSON.
  const inForm = { ...body, ...query }
  return (request) => {
    const warnings: string[] = []
    request.warnings = warnings
    const warn = (text: string): void => void warnings.push(text)
    const wire: Record<string, unknown> = Object.create(null) as Record<string, unknown>
    const take = (
      fields: Fields,
      name: string,
      read: (schema: Fields[string]) => unknown,
      value: unknown,
    ) => {
      if (Object.hasOwn(ineffective, name)) return warn(`${name} has no effect: ${ineffective[name]}`)
      if (!Object.hasOwn(fields, name)) return warn(`${name} is unknown and was ignored`)
      // An empty text that has to be there is one that is wrong.
      if (isAbsent(value) && !(required.includes(name) && value === '')) return undefined
      wire[name] = read(fields[name]!)
    }
    const takeTexts = (fields: Fields, texts: Texts) => {
      for (const [given, text] of Object.entries(texts)) {
        if (text === undefined) continue
        take(fields, given.replace(/\[\]$/, ''), (schema) => fromText(schema, text), text)
      }
    }
    takeTexts(query, request.query as Texts)
    const sent =
      bare !== undefined && Array.isArray(request.body) ? { [bare]: request.body as unknown } : request.body
    if (sent instanceof Form) takeTexts(inForm, sent.fields)
    else if (sent !== undefined && sent !== null) {
      if (typeof sent !== 'object' || Array.isArray(sent))
        throw new GantryError('INVALID_INPUT', 'input: body must be a JSON object')
      for (const [name, value] of Object.entries(sent)) {
        const unknown = (inner: string) => warn(`${name}: ${inner} is unknown and was ignored`)
        take(body, name, (schema) => fromJson(jsonSchema(schema), value, unknown), value)
      }
    }
    for (const [name, text] of Object.entries(request.params as Record<string, string>))
      wire[name] = fromText(parameters[name]!, text)
    const input = translate.request?.(wire, warn) ?? wire
    return Object.assign(input, bind)
  }
}
