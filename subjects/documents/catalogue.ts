import { type Contract, defaultDeadlineMs, type EventContract } from '../kit/contract.ts'
import { plain } from './document.ts'
import { ErrorSchema } from './error-schema.ts'
import { commonCodes, errors } from '../kit/errors.ts'
import {
  brokerPort,
  httpServers,
  messageHeaders,
  product,
  roots,
  title,
  tokenVariable,
  vendor,
  websocketPort,
} from '../kit/names.ts'

/** Form of the catalogue itself; a breaking change of it is another number. */
const format = 1

/**
 * Everything that a program in another language needs to make a client, an edge or a command line as Gantry does: names,
 * the error table, every contract and every event. The schemas are JSON Schema.
 */
export function catalogue(
  contracts: readonly Contract[],
  events: readonly EventContract[],
  { version }: { version: string },
): object {
  return plain({
    format,
    product,
    vendor,
    title,
    version,
    tokenVariable,
    subjects: { services: roots.services, extensions: roots.extensions, events: roots.events },
    broker: { port: brokerPort, websocketPort },
    servers: httpServers,
    headers: messageHeaders,
    errors,
    commonErrors: commonCodes,
    errorBody: ErrorSchema,
    defaultDeadlineMs,
    contracts,
    events,
  })
}
