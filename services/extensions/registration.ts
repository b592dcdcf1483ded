import { permissionsOf } from '../../broker/identity/user-jwt.ts'
import { GantryError, type Problem, invalid } from '../../subjects/kit/errors.ts'
import { endpointSubject } from '../../subjects/extensions/contract.ts'
import type { Endpoint, Registration } from '../../subjects/extensions/model.ts'
import { inputProblems, schemaProblems } from '../../subjects/extensions/schemas.ts'
import { contracts } from '../../subjects/index.ts'
import type { Capabilities } from '../../subjects/access/keys.ts'
import { platformSource } from '../../subjects/observability/metric-model.ts'
import { commandNames, product } from '../../subjects/kit/names.ts'
import { coveringRule, ruleCovers } from '../../subjects/kit/patterns.ts'
import { requireUsable } from '../../subjects/kit/validate.ts'
import { extensionSubjects } from '../../subjects/extensions/visible.ts'

/** Words that mean something else in a path of REST or on the command line. */
const reserved = new Set<string>([
  'all',
  'features',
  // Whose metrics are the platform's own.
  platformSource,
  ...commandNames,
  ...contracts.map(({ resource }) => resource),
])

/** Names of services of the platform, as they are discovered by, and what names of its metrics begin with. */
const isServiceName = (name: string): boolean =>
  [`${product}-`, `${product}_`].some((beginning) => name.toLowerCase().startsWith(beginning))

/** @throws GantryError INVALID_INPUT that names each field and what to do */
export function checkRegistration(registration: Registration): void {
  const problems = [
    ...prefixProblems(registration),
    ...endpointProblems(registration),
    ...pageProblems(registration),
  ]
  if (problems.length > 0) throw invalid(problems)
}

const prefixProblems = ({ prefix }: Registration): Problem[] =>
  reserved.has(prefix.toLowerCase()) || isServiceName(prefix)
    ? [{ field: 'prefix', problem: `must not be ${prefix}, which is reserved` }]
    : []

function endpointProblems({ prefix, endpoints = [] }: Registration): Problem[] {
  const names = endpoints.map(({ name }) => name)
  const subjects = endpoints.map((endpoint) => endpointSubject(prefix, endpoint))
  return endpoints.flatMap((endpoint, index): Problem[] => {
    const at = `endpoints[${index}]`
    const problems = [...subjectProblems(prefix, endpoint, at), ...schemasProblems(endpoint, at)]
    if (names.indexOf(endpoint.name) < index)
      problems.push({ field: `${at}.name`, problem: `${endpoint.name} is used twice` })
    else if (subjects.indexOf(subjects[index]!) < index)
      problems.push({ field: `${at}.subject`, problem: `${subjects[index]} is used twice` })
    return problems
  })
}

function subjectProblems(prefix: string, { subject }: Endpoint, at: string): Problem[] {
  if (subject === undefined) return []
  const own = extensionSubjects(prefix)
  const isInside = ruleCovers(own, subject) && !/[*>]/.test(subject)
  return isInside ? [] : [{ field: `${at}.subject`, problem: `must be a single subject below ${own}` }]
}

function schemasProblems({ input, output }: Endpoint, at: string): Problem[] {
  const problems = [
    ...(input === undefined ? [] : inputProblems(input, `${at}.input`)),
    ...(output === undefined ? [] : schemaProblems(output, `${at}.output`)),
  ]
  return problems.length > 0
    ? problems
    : [...unusable(input, `${at}.input`), ...unusable(output, `${at}.output`)]
}

/** A schema may be right by all rules and still not be what the validator can use. */
function unusable(schema: object | undefined, field: string): Problem[] {
  try {
    if (schema !== undefined) requireUsable(schema)
    return []
  } catch (error) {
    return [{ field, problem: `cannot be used: ${(error as Error).message}` }]
  }
}

function pageProblems({ resources = [], routes = [], menus = [], widgets = [] }: Registration): Problem[] {
  const known = resources.map(({ uri }) => uri)
  const missing = (list: readonly { uri: string }[], name: string) =>
    list.flatMap(({ uri }, index) =>
      known.includes(uri) ? [] : [{ field: `${name}[${index}].uri`, problem: `${uri} is not in resources` }],
    )
  const twice = known.flatMap((uri, index) =>
    known.indexOf(uri) < index ? [{ field: `resources[${index}].uri`, problem: `${uri} is used twice` }] : [],
  )
  const paths = routes.map(({ path }) => path)
  // Who registers no routes may show its pages in its own way.
  const deadEnds = menus.flatMap(({ route }, index) =>
    paths.length === 0 || paths.includes(route)
      ? []
      : [
          {
            field: `menus[${index}].route`,
            problem: `${route} is not one of the routes: ${paths.join(', ')}`,
          },
        ],
  )
  return [...missing(routes, 'routes'), ...missing(widgets, 'widgets'), ...deadEnds, ...twice]
}

/** @throws GantryError DENIED, with the rule that is missing, when a key may not hear what an extension is asked */
export function requireSubscription(keyId: string, capabilities: Capabilities, prefix: string): void {
  const subjects = extensionSubjects(prefix)
  const { allow, deny } = permissionsOf(keyId, capabilities).sub
  const stronger = coveringRule(deny, subjects)
  if (coveringRule(allow, subjects) !== undefined && stronger === undefined) return
  const near = allow.find((rule) => rule !== subjects && rule.toLowerCase() === subjects.toLowerCase())
  const hint =
    stronger !== undefined
      ? `; its rules deny ${stronger}`
      : near === undefined
        ? ''
        : `; it has ${near}, but subjects are case-sensitive`
  throw new GantryError(
    'DENIED',
    `this key may not subscribe to ${subjects}: use a key with the rule "${subjects}" in sub.allow${hint}`,
    { details: { action: 'subscribe', subject: subjects, rule: subjects } },
  )
}
