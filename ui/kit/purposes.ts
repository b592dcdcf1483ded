import { extensions } from '../../subjects/extensions/extensions.ts'
import { extensionStorage } from '../../subjects/extensions/storage.ts'
import { filesystems } from '../../subjects/filesystems/filesystems.ts'
import { roots } from '../../subjects/kit/names.ts'
import { cleanups } from '../../subjects/migrations/cleanups.ts'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { verifications } from '../../subjects/migrations/verifications.ts'
import { observability } from '../../subjects/observability/observability.ts'
import { usage } from '../../subjects/observability/usage.ts'
import { exclusions } from '../../subjects/rules/exclusions.ts'
import { inclusions } from '../../subjects/rules/inclusions.ts'
import { pathMappings } from '../../subjects/rules/path-mappings.ts'
import { allEvents, permitted } from './permissions.ts'

/** What somebody makes a key or a role for. */
export const purposes = {
  read: {
    label: 'Read everything',
    says: 'Lists and shows what you can see, and changes nothing.',
  },
  migrate: {
    label: 'Operate migrations',
    says: 'Creates, starts, stops and verifies migrations; checks stores; reads stores and rules; follows events. It can neither delete migrations, nor approve deletions, nor clean up sources.',
  },
  extension: {
    label: 'Run one extension',
    says: 'Registers the extension, answers its calls, and uses its storage.',
  },
  custom: {
    label: 'Choose permissions one by one',
    says: 'Single resources and subjects, as far as your own permissions reach.',
  },
} as const
export type Purpose = keyof typeof purposes
export const purposeNames = Object.keys(purposes) as Purpose[]

interface Rules {
  readonly pub: readonly string[]
  readonly sub: readonly string[]
}

const operated = new Set<string>([migrations, verifications].map(({ list }) => list.resource))
const read = new Set<string>(
  [cleanups, filesystems, exclusions, inclusions, pathMappings].map(({ list }) => list.resource),
)
/** What cannot be undone is for people. */
const forPeople = /\.(delete|approve|accept)[a-z-]*$/
const ofResources = (names: ReadonlySet<string>, part: 'reading' | 'everything' | 'all') =>
  permitted.filter(({ resource }) => names.has(resource)).flatMap((one) => one[part])

/** What a key or role for the purpose needs. */
export const rulesOf: Readonly<Record<Exclude<Purpose, 'custom'>, (prefix: string) => Rules>> = {
  read: () => ({ pub: permitted.flatMap(({ reading }) => reading), sub: [allEvents] }),
  migrate: () => ({
    pub: [
      ...ofResources(operated, 'all').filter((subject) => !forPeople.test(subject)),
      ...ofResources(read, 'reading'),
      // Before a copy, and before a migration is begun.
      filesystems['check-stored'].subject,
    ],
    sub: [allEvents],
  }),
  extension: (prefix) => ({
    pub: [
      ...[extensions.register, extensions.heartbeat, extensions.deregister].map(({ subject }) => subject),
      ...permitted
        .filter(({ resource }) => resource === extensionStorage.get.resource)
        .flatMap((one) => one.everything),
      observability.report.subject,
      usage.record.subject,
    ],
    sub: prefix === '' ? [] : [`${roots.extensions}.${prefix}.>`],
  }),
}
