import { filesystemKinds, type FilesystemKind } from '../../../subjects/filesystems/kinds.ts'
import type { Rule } from '../../../subjects/migrations/model/rules.ts'
import { temporaryPrefix } from '../../drivers/paths/temporary-names.ts'
import { type StoreKind, storeKinds } from '../../drivers/index.ts'

/** The exclusions of every new migration. */
export const globalExclusions: readonly Rule[] = [
  {
    id: 'default-unfinished-files',
    description: 'Temporary files of other migrations, which are renamed when they are complete',
    type: 'regex',
    patternType: 'GLOB',
    regex: `${temporaryPrefix}*~*~*`,
  },
]

const kinds: readonly StoreKind[] = Object.values(storeKinds)
const ofKinds = new Map(
  kinds.flatMap(({ exclusions }) => exclusions).map((rule): [string, Rule] => [rule.id, rule]),
)
const global = new Map(globalExclusions.map((rule): [string, Rule] => [rule.id, rule]))

/** Where a default exclusion comes from; undefined for a rule that somebody made. */
export const originOf = (id: string): 'kind' | 'everywhere' | undefined =>
  ofKinds.has(id) ? 'kind' : global.has(id) ? 'everywhere' : undefined

/** The default exclusion of this name. */
export const defaultRule = (id: string): Rule | undefined => ofKinds.get(id) ?? global.get(id)

/** The exclusions of a new migration from a source of this kind. */
export const defaultsOf = (source: FilesystemKind): readonly Rule[] => [
  ...globalExclusions,
  ...storeKinds[source].exclusions,
]

/** All kinds, or those that the existing product calls by this name. */
export const kindsOfType = (fsType?: string): readonly StoreKind[] =>
  kinds.filter(({ kind }) => fsType === undefined || filesystemKinds[kind].fsType === fsType)
