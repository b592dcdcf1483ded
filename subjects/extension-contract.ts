import type { Contract } from './contract.ts'
import { defaultLimitMs, type Endpoint } from './extension-model.ts'
import type { JsonSchema } from './json-schema.ts'
import { roots } from './names.ts'
import { problemsOf } from './validate.ts'

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
  http: [
    { server: 'platform', method: endpoint.method ?? 'POST', path: endpointPath(prefix, endpoint.name) },
  ],
  deadlineMs: endpoint.limitMs ?? defaultLimitMs,
})

/** What is wrong with the answer of an endpoint; undefined when it is what its contract says. */
export function answerProblem({ output }: Pick<Contract, 'output'>, answer: unknown): string | undefined {
  const problems = problemsOf(output, answer)
  if (problems.length === 0) return undefined
  return `the answer does not fit: ${problems.map(({ field, problem }) => `${field} ${problem}`.trim()).join('; ')}`
}
