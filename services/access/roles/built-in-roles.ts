import { contracts } from '../../../subjects/index.ts'
import type { Contract } from '../../../subjects/kit/contract.ts'
import { keys } from '../../../subjects/access/keys.ts'
import { roots, vendor } from '../../../subjects/kit/names.ts'
import { platform } from '../../../subjects/platform/platform.ts'
import { rbac, type Role, roles } from '../../../subjects/access/roles.ts'
import { signIn } from '../../../subjects/access/sign-in.ts'
import { users } from '../../../subjects/access/users.ts'

/** Verbs that look and change nothing. */
const readingVerbs = new Set([
  'info',
  'ping',
  'health',
  'ready',
  'list',
  'get',
  'own',
  'self',
  'check',
  'kinds',
  'health-all',
  'list-paths',
  'failures',
  'export-failures',
  'report',
  'reports',
  'report-of',
  'reports-of',
  'progress',
  'plan',
  'states',
  'stats',
  'history',
  'current',
  'current-one',
  'cumulative',
  'throughput',
  'throughput-in',
  'text',
  'summary',
  'attached',
  'test',
  'pending-regions',
  'path-status',
  'oldest-work',
  'oldest-work-all',
  'features',
  'show',
  'resource',
  'logs',
  'query_scalar_metrics',
  'prometheus',
  'totals',
  'export',
  'latest',
  'feed',
])

const events = `${roots.events}.>`
/** Discovery of services (NATS ADR-32). */
const discovery = '$SRV.>'

/** Everything that the platform offers; not other users' inboxes, nor the broker's own subjects. */
export const admin: Role = {
  name: 'admin',
  description: 'Everything',
  pub: { allow: [`${vendor}.>`, discovery] },
  sub: { allow: [`${vendor}.>`] },
  visible_extensions: ['*'],
}

/** Whether a contract only looks: what counts on a connection is what an extension does there, whatever its verb. */
const isReading = ({ verb, brokerOnly }: Contract): boolean => readingVerbs.has(verb) && brokerOnly !== true

/** Whether a contract is for administrators: what it tells is about other people. */
const isAdministration = ({ http }: Contract): boolean =>
  http.length > 0 && http.every(({ path }) => path.startsWith('/api/v1/admin/'))

const subjectsOf = (list: readonly Contract[]): string[] => list.map(({ subject }) => subject)

/** What everybody may who has signed in, with no role at all: to see who one is, and to have keys of one's own. */
export const everyone = {
  pub: {
    allow: subjectsOf(
      [
        ...Object.values(keys),
        ...Object.values(platform),
        roles.own,
        users.self,
        rbac.check,
        signIn.refresh,
        signIn.out,
      ].filter((contract: Contract) => !isAdministration(contract)),
    ),
  },
  sub: { allow: [] },
  visible_extensions: [],
} as const satisfies Pick<Role, 'pub' | 'sub' | 'visible_extensions'>

export const viewer: Role = {
  name: 'viewer',
  description: 'Reads everything except the contents of catalogs, alerts and administration; changes nothing',
  pub: {
    allow: subjectsOf(contracts.filter((contract) => isReading(contract) && !isAdministration(contract))),
  },
  sub: { allow: [events, `${roots.metrics}.>`] },
  visible_extensions: [],
}

export const builtInRoles: readonly Role[] = [admin, viewer]
export const isBuiltIn = (name: string): boolean => builtInRoles.some((role) => role.name === name)
