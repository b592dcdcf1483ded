import { type Contract, defaultDeadlineMs, type EventContract, verbOf } from '../kit/contract.ts'
import { product } from '../kit/names.ts'

/** Whom the documents name. */
export const contact = { name: 'The Gantry project' }

const licenceName = 'Apache License 2.0'

/** Of the API; OpenAPI 3.1 takes the identifier of SPDX, AsyncAPI an address. */
export const licence = { name: licenceName, identifier: 'Apache-2.0' }
export const licenceWithAddress = { name: licenceName, url: 'https://www.apache.org/licenses/LICENSE-2.0' }

/** What each resource is about. */
const resourceDescriptions: Readonly<Record<string, string>> = {
  agents: 'Transfer agents on other hosts: register, list and configure them.',
  alerts: 'Alert rules, alerts, and the webhooks that receive them.',
  assignments: 'Roles of the groups of the identity provider or directory.',
  audit: 'The audit log and its integrity check.',
  authentication: 'Sign-in with a user name and a password.',
  bandwidth: 'Bandwidth limits: global, by migration, by source and by target.',
  cleanups: 'Removal of copied files from the source, and cleanup reports.',
  diagnostics: 'Statistics about the host and the running migrations.',
  exclusions: 'Rules for files and folders that migrations skip.',
  'extension-storage': 'Key-value storage for extensions.',
  extensions: 'Extensions: their instances, endpoints, pages and logs.',
  filesystems: 'Sources and targets: local folders, S3, Azure, Google Cloud Storage and HDFS.',
  inclusions: 'Rules that limit migrations to matching files and folders.',
  keys: 'API keys: create, update, rotate and revoke them.',
  logging: 'Log level of the platform.',
  'metadata-catalogs': 'Metadata catalogs, such as Hive metastores, AWS Glue and Iceberg.',
  'metadata-comparisons': 'Comparisons of the tables in two catalogs, and their reports.',
  'metadata-migrations': 'Migrations of databases, tables and partitions between catalogs.',
  'metadata-rules': 'Rules that select the databases and tables of a metadata migration.',
  migrations: 'File migrations: create, start, stop and monitor them, and handle failures.',
  notifications: 'Notifications about finished jobs, conditions and alerts.',
  observability: 'Metrics of the platform and of extensions.',
  'path-mappings': 'Different target paths for source folders.',
  platform: 'The platform itself: addresses, health and background tasks.',
  rbac: 'Permission checks: whether a key may publish or subscribe to a subject.',
  roles: 'Roles: named sets of permissions.',
  settings: 'Settings of the platform, such as limits per owner.',
  'sign-in': 'Sign-in through the identity provider, and sessions.',
  stats: 'Throughput and totals of migrations.',
  usage: 'Usage records of extensions, for billing and cost allocation.',
  users: 'Users who have signed in.',
  verifications: 'Comparisons of source and target, and their reports.',
}

export interface Tag {
  readonly name: string
  readonly description: string
}

/** The tag of a resource, or of an extension by its prefix. */
export const tagOf = (resource: string): Tag => ({
  name: resource,
  description: resourceDescriptions[resource] ?? `Endpoints of the extension ${resource}.`,
})

/** Of the resources that contracts have, each once. */
export const tagsOf = (contracts: readonly Pick<Contract, 'resource'>[]): Tag[] =>
  [...new Set(contracts.map(({ resource }) => resource))].map(tagOf)

/** Paragraphs, without those that are not there. */
const paragraphs = (...parts: readonly (string | undefined)[]): string =>
  parts.filter((part) => part !== undefined && part !== '').join('\n\n')

/** A description as sentences: of contracts those may be a phrase. */
const sentence = (text: string): string => (/[.!?:`]$/.test(text) ? text : `${text}.`)

const deadline = ({ deadlineMs = defaultDeadlineMs }: Contract): string =>
  `Returns TIMEOUT after ${deadlineMs / 1_000} s.`

const audited = ({ audit }: Contract): string =>
  audit === undefined ? '' : ' Calls are recorded in the audit log.'

const command = (contract: Contract): string => {
  const { resource, brokerOnly, cli } = contract
  const line = cli?.example ?? `${product} ${resource} ${verbOf(contract)}`
  return brokerOnly === undefined ? ` Command line: \`${line}\`.` : ''
}

/** What a caller of an HTTP operation should know. @param isPublic whether it takes no token */
export const httpDescription = (
  contract: Contract,
  { description, isPublic }: { description: string | undefined; isPublic: boolean },
): string =>
  paragraphs(
    description && sentence(description),
    `${isPublic ? 'Requires no token.' : `The token must be allowed to publish to \`${contract.subject}\`.`} ${deadline(contract)}${audited(contract)}`,
  )

/** What somebody should know who asks over the broker. */
export const requestDescription = (contract: Contract): string => {
  const { description, http } = contract
  const routes = http.map(({ method, path }) => `\`${method} ${path}\``)
  const rest = routes.length === 0 ? '' : ` REST: ${routes.join(', ')}.`
  return paragraphs(
    description && sentence(description),
    `${deadline(contract)}${audited(contract)}${rest}${command(contract)}`,
  )
}

/** What somebody should know who listens to an event. */
export const eventDescription = ({ summary, ephemeral }: EventContract): string =>
  `${sentence(summary)} ${
    ephemeral
      ? 'Sent to current subscribers only, and not stored: each message replaces the previous one.'
      : 'Sent at least once after the change, and stored for a limited time.'
  }`
