import { resources } from '../../subjects/index.ts'
import type { Contract } from '../../subjects/kit/contract.ts'
import { roots, vendor } from '../../subjects/kit/names.ts'
import { ruleCovers, uncovered } from '../../subjects/kit/patterns.ts'
import { labelOf, wordsOf } from './format.ts'

/** A resource of the platform as permissions name it. */
export interface Permitted {
  readonly resource: string
  readonly label: string
  /** Each subject. */
  readonly all: readonly string[]
  /** Rules that let somebody look at it. */
  readonly reading: readonly string[]
  /** Rules that let somebody do everything. */
  readonly everything: readonly string[]
}

/** Signing in takes no permission. */
const isOfSignIn = ({ http }: Contract): boolean => http.some(({ public: by }) => by === 'credentials')

/** All resources that people and programs need permissions for. */
export const permitted: readonly Permitted[] = Array.from(
  Map.groupBy(
    Object.values(resources).flatMap((group): readonly Contract[] => Object.values(group)),
    ({ resource }) => resource,
  ),
).flatMap(([resource, contracts]) => {
  if (contracts.some(isOfSignIn)) return []
  return [
    {
      resource,
      label: labelOf(resource),
      all: contracts.map(({ subject }) => subject),
      reading: contracts
        // What counts on a connection, as an extension's storage, is written to as well.
        .filter(({ audit, http }) => audit === undefined && http.some(({ method }) => method === 'GET'))
        .map(({ subject }) => subject),
      everything: [`${roots.services}.${resource}.>`],
    },
  ]
})

/** Subjects of what only looks: what changes something is in the audit log, or counts on the connection of an extension. */
const looking: ReadonlySet<string> = new Set(
  Object.values(resources)
    .flatMap((group): readonly Contract[] => Object.values(group))
    .filter(({ audit, brokerOnly }) => audit === undefined && brokerOnly !== true)
    .map(({ subject }) => subject),
)

export const allEvents = `${roots.events}.>`

/** Rules of one part of the platform, in words. */
export interface RuleGroup {
  readonly label: string
  readonly says: string
  /** Whether they let nobody change anything. */
  readonly isReading?: boolean
}

const restOf = (rule: string, root: string): readonly string[] | undefined =>
  rule.startsWith(`${root}.`) ? rule.slice(root.length + 1).split('.') : undefined

/** What rules of publishing allow: by resource, and as what they are where they are of nothing else. */
export function groupsOf(rules: readonly string[]): readonly RuleGroup[] {
  const byResource = new Map<string, string[]>()
  const others: RuleGroup[] = []
  for (const rule of rules) {
    const [resource, ...verb] = restOf(rule, roots.services) ?? []
    const prefix = restOf(rule, roots.extensions)
    const event = restOf(rule, roots.events)
    if (ruleCovers(rule, `${vendor}.>`)) others.push({ label: 'Everything', says: rule })
    else if (rule.startsWith('$SRV.')) others.push({ label: 'Discovery of services', says: rule })
    else if (restOf(rule, roots.metrics) !== undefined) others.push({ label: 'Metrics', says: rule })
    else if (resource === '>') others.push({ label: 'All services', says: 'everything' })
    else if (resource !== undefined)
      byResource.set(resource, [...(byResource.get(resource) ?? []), verb.join('.')])
    else if (prefix !== undefined)
      others.push({ label: prefix[0] === '>' ? 'All extensions' : `Extension ${prefix[0]}`, says: rule })
    else if (event !== undefined)
      others.push({
        label: event[0] === '>' ? 'All events' : `Events of ${wordsOf(event[0] ?? '')}`,
        says: rule,
      })
    else others.push({ label: 'Other subjects', says: rule })
  }
  return [
    ...Array.from(byResource, ([resource, verbs]) => ({
      label: resource === '*' ? 'All services' : labelOf(resource),
      says: verbsText(resource, verbs),
      isReading: verbs.every((verb) => looking.has(`${roots.services}.${resource}.${verb}`)),
    })),
    ...others,
  ]
}

function verbsText(resource: string, verbs: readonly string[]): string {
  if (verbs.includes('>') || verbs.includes('*')) return 'everything'
  const known = permitted.find((one) => one.resource === resource)
  const rules = verbs.map((verb) => `${roots.services}.${resource}.${verb}`)
  if (known === undefined || known.reading.length === 0 || uncovered(rules, known.reading).length > 0)
    return verbs.map(wordsOf).join(', ')
  const more = rules.filter((rule) => !known.reading.includes(rule)).map((rule) => rule.split('.').at(-1)!)
  return ['read', ...more.map(wordsOf)].join(', ')
}
