import type { ComponentType } from 'react'
import type { resources } from '../../subjects/index.ts'
import { serviceSubject } from '../../subjects/kit/names.ts'

/** A page: its code is loaded when it is opened first. */
export interface Place {
  readonly path: string
  readonly load: () => Promise<{ readonly default: ComponentType }>
}

/** A page that the navigation and the search lead to: for those who may call what it shows. */
export interface NamedPlace extends Place {
  readonly label: string
  /** Other words that people look for it by. */
  readonly words?: string
  /** Subject of the contract. */
  readonly needs?: string
}

type Resources = typeof resources

/** The subject of a contract. The contract itself would bring its schemas, which the page loads. */
const subjectOf = <R extends keyof Resources>(resource: R, verb: keyof Resources[R] & string): string =>
  serviceSubject(
    resource.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`),
    verb,
  )

/** The navigation, in parts. */
export const navigation: readonly { readonly label?: string; readonly places: readonly NamedPlace[] }[] = [
  { places: [{ path: '/', label: 'Home', load: () => import('../pages/home/home.tsx') }] },
  {
    label: 'Data',
    places: [
      {
        path: '/migrations',
        label: 'Migrations',
        words: 'copy tasks verifications failures cleanups plans',
        needs: subjectOf('migrations', 'list'),
        load: () => import('../pages/migrations/migrations.tsx'),
      },
      {
        path: '/stores',
        label: 'Stores',
        words: 'filesystems buckets folders locations',
        needs: subjectOf('filesystems', 'list'),
        load: () => import('../pages/stores/stores.tsx'),
      },
      {
        path: '/rules',
        label: 'Rules',
        words: 'exclusions inclusions filters exclude include skip',
        needs: subjectOf('exclusions', 'list'),
        load: () => import('../pages/stores/rules.tsx'),
      },
      {
        path: '/mappings',
        label: 'Path mappings',
        needs: subjectOf('pathMappings', 'list'),
        load: () => import('../pages/stores/mappings.tsx'),
      },
      {
        path: '/agents',
        label: 'Agents',
        words: 'hosts',
        needs: subjectOf('agents', 'list'),
        load: () => import('../pages/stores/agents.tsx'),
      },
      {
        path: '/bandwidth',
        label: 'Bandwidth',
        words: 'limits throttle schedule',
        needs: subjectOf('bandwidth', 'list'),
        load: () => import('../pages/stores/bandwidth.tsx'),
      },
    ],
  },
  {
    label: 'Metadata',
    places: [
      {
        path: '/metadata/migrations',
        label: 'Metadata migrations',
        needs: subjectOf('metadataMigrations', 'list'),
        load: () => import('../pages/metadata/migrations.tsx'),
      },
      {
        path: '/metadata/catalogs',
        label: 'Catalogs',
        words: 'hive glue databases tables',
        needs: subjectOf('metadataCatalogs', 'list'),
        load: () => import('../pages/metadata/catalogs.tsx'),
      },
      {
        path: '/metadata/rules',
        label: 'Metadata rules',
        needs: subjectOf('metadataRules', 'list'),
        load: () => import('../pages/metadata/rules.tsx'),
      },
    ],
  },
  {
    label: 'Observability',
    places: [
      {
        path: '/metrics',
        label: 'Metrics',
        words: 'charts throughput',
        needs: subjectOf('observability', 'list'),
        load: () => import('../pages/observability/metrics.tsx'),
      },
      {
        path: '/notifications',
        label: 'Notifications',
        words: 'events messages',
        needs: subjectOf('notifications', 'list'),
        load: () => import('../pages/observability/notifications.tsx'),
      },
      {
        path: '/alerts',
        label: 'Alerts',
        words: 'webhooks rules',
        needs: subjectOf('alerts', 'list'),
        load: () => import('../pages/observability/alerts.tsx'),
      },
      {
        path: '/logging',
        label: 'Log level',
        words: 'logging debug',
        needs: subjectOf('logging', 'get'),
        load: () => import('../pages/observability/logging.tsx'),
      },
    ],
  },
  {
    label: 'Extensions',
    places: [
      {
        path: '/extensions',
        label: 'Extensions',
        needs: subjectOf('extensions', 'list'),
        load: () => import('../pages/extensions/extensions.tsx'),
      },
    ],
  },
  {
    label: 'Account',
    places: [
      {
        path: '/account',
        label: 'Profile',
        words: 'permissions sessions',
        load: () => import('../pages/account/profile.tsx'),
      },
      {
        path: '/account/keys',
        label: 'API keys',
        words: 'tokens',
        needs: subjectOf('keys', 'list'),
        load: () => import('../pages/account/keys.tsx'),
      },
    ],
  },
  {
    label: 'Administration',
    places: [
      {
        path: '/administration/assignments',
        label: 'Assignments',
        words: 'groups roles',
        needs: subjectOf('assignments', 'list'),
        load: () => import('../pages/administration/assignments.tsx'),
      },
      {
        path: '/administration/roles',
        label: 'Roles',
        words: 'permissions',
        needs: subjectOf('roles', 'list'),
        load: () => import('../pages/administration/roles.tsx'),
      },
      {
        path: '/administration/users',
        label: 'Users',
        words: 'people',
        needs: subjectOf('users', 'list'),
        load: () => import('../pages/administration/users.tsx'),
      },
      {
        path: '/administration/keys',
        label: 'All keys',
        words: 'tokens sessions',
        needs: subjectOf('keys', 'examine'),
        load: () => import('../pages/administration/keys.tsx'),
      },
      {
        path: '/administration/settings',
        label: 'Settings',
        words: 'limits configuration',
        needs: subjectOf('settings', 'get'),
        load: () => import('../pages/administration/settings.tsx'),
      },
      {
        path: '/administration/audit',
        label: 'Audit log',
        needs: subjectOf('audit', 'list'),
        load: () => import('../pages/administration/audit.tsx'),
      },
      {
        path: '/administration/health',
        label: 'Health and tasks',
        words: 'background damage losses',
        needs: subjectOf('platform', 'tasks'),
        load: () => import('../pages/administration/health.tsx'),
      },
    ],
  },
]

/** Pages of one object, or of a step: other pages lead there. */
const inner: readonly Place[] = [
  { path: '/new-migration', load: () => import('../pages/migrations/new-migration.tsx') },
  { path: '/migrations/$migrationId', load: () => import('../pages/migrations/migration.tsx') },
  { path: '/stores/$role/$fileSystemId', load: () => import('../pages/stores/store.tsx') },
  { path: '/rules/$effect/$id', load: () => import('../pages/stores/rule.tsx') },
  { path: '/metadata/migrations/$migrationName', load: () => import('../pages/metadata/migration.tsx') },
  { path: '/metadata/catalogs/$catalogId', load: () => import('../pages/metadata/catalog.tsx') },
  { path: '/extensions/$prefix', load: () => import('../pages/extensions/extension.tsx') },
  { path: '/extensions/$prefix/pages/$', load: () => import('../pages/extensions/extension-page.tsx') },
]

export const places: readonly Place[] = [...navigation.flatMap((part) => part.places), ...inner]
