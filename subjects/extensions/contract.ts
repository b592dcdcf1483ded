import { checkCost } from './check-cost.ts'
import type { Fits } from '../kit/coerce.ts'
import type { Contract } from '../kit/contract.ts'
import { type Problem, invalid, problemsText } from '../kit/errors.ts'
import { defaultLimitMs, type Endpoint } from './model.ts'
import { schemaLimits } from './schemas.ts'
import { type JsonSchema, jsonSchema } from '../kit/json-schema.ts'
import { roots } from '../kit/names.ts'
import { faultsOf, matches } from '../kit/validate.ts'

/** Subject of an endpoint where its registration names none. */
export const endpointSubject = (
  prefix: string,
  { name, subject }: Pick<Endpoint, 'name' | 'subject'>,
): string => subject ?? `${roots.extensions}.${prefix}.${name}`

export const endpointPath = (prefix: string, name: string): string => `/api/v1/extensions/${prefix}/${name}`

const noFields: JsonSchema = { type: 'object', properties: {}, additionalProperties: false }
const anything: JsonSchema = {}

/** An endpoint as a contract like those of the platform: its route, page and command come from it in the same way. */
export const endpointContract = (prefix: string, endpoint: Endpoint): Contract => ({
  resource: prefix,
  verb: endpoint.name,
  subject: endpointSubject(prefix, endpoint),
  summary: endpoint.summary,
  ...(endpoint.description === undefined ? {} : { description: endpoint.description }),
  input: endpoint.input ?? noFields,
  output: endpoint.output ?? anything,
  errors: endpoint.errors ?? [],
  http: [{ method: endpoint.method ?? 'POST', path: endpointPath(prefix, endpoint.name) }],
  deadlineMs: endpoint.limitMs ?? defaultLimitMs,
})

/** What is wrong with a value by a schema of an extension. One that would take too long to check is refused unseen. */
function problemsWithin(schema: Contract['input'], value: unknown): Problem[] {
  const { maxSteps, maxStepsToTell } = schemaLimits
  const { look, tell } = checkCost(jsonSchema(schema), value, maxSteps)
  const all = (problem: string): Problem[] => [{ field: '', problem }]
  if (look > maxSteps)
    return all(`takes more than ${maxSteps} steps to validate: send fewer values or shorter texts`)
  // Interpreted, it takes as long to be checked as to be told.
  if (matches(schema, value, tell > maxStepsToTell)) return []
  if (tell > maxStepsToTell)
    return all('does not match its schema, and is too large for an error per field: send fewer values')
  return faultsOf(schema, value)
}

/** The input of an endpoint. @throws GantryError INVALID_INPUT that names each field and the fix */
export function checkInput({ input }: Pick<Contract, 'input'>, value: unknown): unknown {
  const problems = problemsWithin(input, value)
  if (problems.length > 0) throw invalid(problems)
  return value
}

/** What is wrong with the answer of an endpoint; undefined when it is what its contract says. */
export function answerProblem({ output }: Pick<Contract, 'output'>, answer: unknown): string | undefined {
  const problems = problemsWithin(output, answer)
  return problems.length === 0
    ? undefined
    : `the reply does not match the output schema: ${problemsText(problems)}`
}

/** Tells what fits schemas of an extension, as long as that takes no longer than one message may; then nothing does. */
export function fitsWithin(): Fits {
  let left: number = schemaLimits.maxSteps
  return (schema, value) => {
    const { look, tell } = checkCost(jsonSchema(schema), value, left)
    left -= look
    return left >= 0 && matches(schema, value, tell > schemaLimits.maxStepsToTell)
  }
}
