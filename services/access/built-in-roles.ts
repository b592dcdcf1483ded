import type { Role } from '../../subjects/access.ts'
import { contracts } from '../../subjects/index.ts'
import { roots, vendor } from '../../subjects/names.ts'

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
  'progress',
  'stats',
  'summary',
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

export const viewer: Role = {
  name: 'viewer',
  description: 'Looks at everything, changes nothing',
  pub: { allow: contracts.filter(({ verb }) => readingVerbs.has(verb)).map(({ subject }) => subject) },
  sub: { allow: [events] },
  visible_extensions: [],
}

export const builtInRoles: readonly Role[] = [admin, viewer]
export const isBuiltIn = (name: string): boolean => builtInRoles.some((role) => role.name === name)
