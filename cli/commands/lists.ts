import { type Contract, verbOf } from '../../subjects/kit/contract.ts'
import { contracts } from '../../subjects/index.ts'
import { fieldsOf, jsonSchema } from '../../subjects/kit/json-schema.ts'
import type { NameList } from '../completion/tree.ts'
import { kebab } from '../output/shape.ts'

/** A place on the command line where the name of something may stand. */
export interface NamePlace {
  /** Words of the command, without the program's name. */
  readonly words: readonly string[]
  /** Its flag or argument, in kebab case without dashes. */
  readonly value: string
}

/** As many as a shell shows without asking whether it should. */
const maxNames = 100
/** What a place names, and which of these. */
interface Meaning {
  readonly name: string
  readonly input?: Readonly<Record<string, string>>
}

const migrationName: Meaning = { name: 'migration-id' }
const sourceName: Meaning = { name: 'file-system-id', input: { role: 'source' } }
const targetName: Meaning = { name: 'file-system-id', input: { role: 'target' } }

/** What some places name whose own names do not say so. */
const meanings: Readonly<Record<string, Readonly<Record<string, Meaning>>>> = {
  migrations: {
    source: sourceName,
    target: targetName,
    exclusions: { name: 'exclusion-id' },
    inclusions: { name: 'inclusion-id' },
  },
  'path-mappings': { 'source-file-system': sourceName, 'target-file-system': targetName },
  // They take the name of a migration for its latest verification.
  verifications: { 'verification-id': migrationName },
  'metadata-migrations': { source: { name: 'catalog-id' }, target: { name: 'catalog-id' } },
  keys: { role: { name: 'role-id' } },
  // Most limits are of migrations.
  bandwidth: { name: migrationName },
  watch: { migration: migrationName },
}

interface List {
  readonly contract: Contract
  /** The field of each row that names it. */
  readonly column: string
}

const lists: readonly List[] = contracts
  .filter(({ verb }) => verb === 'list')
  .flatMap((contract) => {
    const { items } = jsonSchema(contract.output)
    const { required = [] } = jsonSchema(contract.input)
    const column = Object.hasOwn(items?.properties ?? {}, 'id') ? 'id' : contract.cli?.columns?.[0]
    return column !== undefined && required.length === 0 ? [{ contract, column }] : []
  })

/** The list of names of a place as plain data; undefined where it names nothing that there is a list of. */
export function nameListAt(place: NamePlace): NameList | undefined {
  const list = listFor(place)
  return list && nameListOf(list, meaningOf(place)?.input)
}

function nameListOf({ contract, column }: List, input: NameList['input'] = {}): NameList {
  const { subject, resource, summary, deadlineMs, lasting } = contract
  return {
    subject,
    resource,
    summary,
    ...(deadlineMs !== undefined && { deadlineMs }),
    ...(lasting !== undefined && { lasting }),
    column,
    input: { ...(Object.hasOwn(fieldsOf(contract.input), 'limit') && { limit: maxNames }), ...input },
  }
}

const meaningOf = ({ words: [resource = ''], value }: NamePlace): Meaning | undefined =>
  meanings[resource]?.[value]

/** The list that has what a place names: of its own resource, unless that is being made, or of another that is called so. */
function listFor(place: NamePlace): List | undefined {
  const { words, value } = place
  const [resource = '', verb = ''] = words
  const name = meaningOf(place)?.name ?? value
  const isOf = ({ contract, column }: List) => kebab(column) === name || isIdOf(contract.resource, name)
  const own = lists.find((list) => list.contract.resource === resource && isOf(list))
  if (own !== undefined) return isMaking(verb) ? undefined : own
  // Of several that have one of this name, none is meant more than another.
  return name === 'name' || name === 'id' ? undefined : lists.find(isOf)
}

/** What resources of the metadata service begin with. */
const metadata = 'metadata-'

const makingVerbs = ['create', 'register', 'add', 'put']

/** Whether a verb makes something, whose name nobody may have yet. */
export const isMaking = (verb: string): boolean => makingVerbs.some((making) => verb.startsWith(making))

/** What lists what a message says that there is not, or is already. */
export interface Listed {
  /** The command, without the program's name. */
  readonly command: string
  /** What is not there, and the names that are; not where the message says neither. */
  readonly missing?: { readonly name: string; readonly names: NameList }
}

/**
 * What lists what a message says that there is not, or is already: of the resource that it names, or else of the one that was
 * called. Undefined where there is no such list.
 * @param resource whose command was called
 */
export function listedBy(message: string, resource: string): Listed | undefined {
  const [, field, problem = ''] = /^(?:(\w+): )?(.*)$/s.exec(message) ?? []
  const [, whole, name] = /^there is no ([a-z ]+) ([^ ]+)$/.exec(problem) ?? []
  const noun = whole ?? /^there is no ([a-z ]+?) [^ ]/.exec(problem)?.[1] ?? ''
  // What a resource has beside that which it is called by: the webhooks of alerts.
  const within = contracts.find((one) => one.resource === resource && noun !== '' && one.verb === `${noun}s`)
  if (within !== undefined) return { command: `${resource} ${verbOf(within)}` }
  const isNamed = (prefix: string) => (list: List) =>
    list.contract.resource === `${prefix}${noun.replaceAll(' ', '-')}s`
  // Both services have rules.
  const named = lists.find(isNamed(resource.startsWith(metadata) ? metadata : '')) ?? lists.find(isNamed(''))
  // A field is about something else.
  const isOwn = ({ contract }: List) => field === undefined && contract.resource === resource
  const list = named ?? lists.find(isOwn)
  if (list === undefined) return undefined
  return {
    command: `${list.contract.resource} list`,
    ...(name !== undefined && named !== undefined && { missing: { name, names: nameListOf(list) } }),
  }
}

/** Whether a field has the id of one of a resource: `path-mapping-id` of `path-mappings`. */
const isIdOf = (resource: string, name: string): boolean =>
  name.endsWith('-id') && [resource, resource.replace(/^metadata-/, '')].includes(name.replace(/-id$/, 's'))
