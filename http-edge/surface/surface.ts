import type { FastifyInstance } from 'fastify'
import { GantryError } from '../../subjects/kit/errors.ts'
import type { HttpServerName } from '../../subjects/kit/names.ts'
import type { CallOutcome, Route } from '../server/definition.ts'
import { pathOf } from '../server/failures.ts'
import type { SurfaceErrors } from './errors.ts'
import { lenientReader } from './input.ts'
import type { Operation } from './operation.ts'
import { type AbsentFields, filler, wholeSchemas } from './reply.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    operation?: Operation
  }
}

/** An interface that is somebody else's shape: a list of operations that translate into contracts. */
export interface Surface<O extends Operation = Operation> {
  readonly name: HttpServerName
  readonly operations: readonly O[]
  /** What its document says of it. */
  readonly description: string
  readonly errors: SurfaceErrors
  /** Fields of replies that the contracts have not. */
  readonly absentFields: AbsentFields
  /** What an operation has done before its input is read. */
  readonly before?: (operation: O) => Route['before']
}

/** Existing clients are read by people too, who see replies in a terminal. */
const indent = 2

/** The routes of a surface. */
export function surfaceRoutes<O extends Operation>({
  operations,
  absentFields,
  before,
}: Surface<O>): Route[] {
  const wholeSchema = wholeSchemas(absentFields)
  return operations.map((operation) => {
    const { method, path, status, calls, translate } = operation
    const read = lenientReader(operation)
    const fill = filler(wholeSchema(operation.reply)) ?? ((value: unknown) => value)
    const answer = translate.reply as ((native: unknown) => unknown) | undefined
    const { download, choose, each } = translate
    const first = before?.(operation)
    return {
      method,
      path,
      status,
      calls,
      config: { operation },
      ...(operation.public === undefined ? {} : { public: operation.public }),
      ...(operation.conditional === undefined ? {} : { conditional: operation.conditional }),
      read,
      ...(choose === undefined ? {} : { choose }),
      ...(each === undefined
        ? {}
        : {
            each: {
              inputs: each.inputs,
              write: (outcomes) => JSON.stringify(allDone(outcomes, each.tell), null, indent),
            },
          }),
      ...(first === undefined ? {} : { before: first }),
      write: (data) => {
        const native: unknown = JSON.parse(Buffer.from(data).toString())
        return JSON.stringify(fill(answer === undefined ? native : answer(native)), null, indent)
      },
      ...(download === undefined ? {} : { download: (part, request) => download(part, read(request)) }),
    }
  })
}

/** What is told of each, once all is done. @throws GantryError of the first that failed, with all of them as details */
function allDone(outcomes: readonly CallOutcome[], tell: (outcome: CallOutcome) => object): object[] {
  const told = outcomes.map(tell)
  const failed = outcomes.flatMap(({ error }) => error ?? [])
  const [first] = failed
  if (first === undefined) return told
  if (outcomes.length === 1) throw first
  const message = `${failed.length} of ${outcomes.length} failed: ${first.message}`
  throw new GantryError(first.code, message, { details: told, cause: first })
}

/**
 * Refuses operations that are not there, each as `METHOD /path/{field}`: other routes would take some of these paths for the
 * name of an object.
 */
export function addMissing(
  app: FastifyInstance,
  missing: readonly string[],
  refusal: (method: string, path: string) => GantryError,
): void {
  for (const each of missing) {
    const [method = '', path = ''] = each.split(' ')
    app.route({
      method,
      url: path.replaceAll(/\{(\w+)\}/g, ':$1'),
      config: { isMissing: true },
      onRequest: (request, _, done) => done(refusal(method, pathOf(request))),
      handler: () => undefined,
    })
  }
}
