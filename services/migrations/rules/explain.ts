import type { Handler, Output } from '../../../subjects/contract.ts'
import { GantryError } from '../../../subjects/errors.ts'
import type { exclusions } from '../../../subjects/exclusions.ts'
import type { Rule } from '../../../subjects/rules.ts'
import { nameOf, parentOf } from '../../drivers/local-root.ts'
import { pathFromText, textFromPath } from '../../drivers/path-text.ts'
import { collisionsIn, targetPath } from '../engine/mappings.ts'
import { isWithin } from '../engine/paths.ts'
import { type NamedEntry, type RuleLists, Rules } from '../engine/rules.ts'
import type { MigrationDependencies } from '../dependencies.ts'
import { engineMappings, leading } from '../mappings/frozen.ts'
import type { MigrationRecord } from '../record.ts'
import { ruleView } from './view.ts'

type Test = (typeof exclusions)['test']
type Explanation = Omit<Output<Test>, 'path'>

/** Says what a migration does with a path. */
export const explainer =
  ({ records, rules, refusalAt }: MigrationDependencies): Handler<Test> =>
  async ({ migrationId, path: text, type = 'file', size = 0, modified }) => {
    const record = await records.get(migrationId)
    if (record === undefined) throw new GantryError('NOT_FOUND', `there is no migration ${migrationId}`)
    const path = pathFromText(text)
    const modifiedMs = modified === undefined ? Date.now() : Date.parse(modified)
    const sizeBytes = type === 'file' ? size : 0
    const entry: NamedEntry = { name: nameOf(path), type, sizeBytes, modifiedMs }
    const lists = await rules.of(record)
    const explanation =
      outside(record, path) ??
      byRule(lists, record, path, entry) ??
      byMapping(record, path, entry) ??
      (await byTarget(record, path, entry, refusalAt)) ??
      taken(lists, record, path, entry)
    return { path: textFromPath(path), ...explanation }
  }

function outside({ path: root }: MigrationRecord, path: Buffer): Explanation | undefined {
  if (isWithin(pathFromText(root), path)) return undefined
  return { decision: 'OUTSIDE', explanation: `the migration is of ${root}, and this lies elsewhere` }
}

/** The folders from the one below the migration's own down to the path itself. */
function* steps(root: Buffer, path: Buffer): Generator<Buffer> {
  if (path.length <= root.length) return
  yield* steps(root, parentOf(path))
  yield path
}

const folderAt = (path: Buffer): NamedEntry => ({
  name: nameOf(path),
  type: 'folder',
  sizeBytes: 0,
})

function byRule(
  lists: RuleLists,
  { path: root }: MigrationRecord,
  path: Buffer,
  entry: NamedEntry,
): Explanation | undefined {
  const rules = new Rules(lists)
  for (const step of steps(pathFromText(root), path)) {
    const isLast = step.length === path.length
    const verdict = rules.inFolder(parentOf(step)).verdict(isLast ? entry : folderAt(step))
    if (typeof verdict !== 'object') continue
    const at = isLast ? 'it' : `the folder ${textFromPath(step)}`
    const rule = lists.exclusions.find(({ id }) => id === verdict.excludedBy)
    if (rule === undefined) {
      return {
        decision: 'NOT_INCLUDED',
        explanation: `no inclusion of the migration matches ${at}${assumed(lists.inclusions, entry)}`,
      }
    }
    return {
      decision: 'EXCLUDED',
      exclusion: ruleView('exclusion', rule),
      explanation: `the exclusion ${rule.id} matches ${at}`,
    }
  }
  return undefined
}

function byMapping(record: MigrationRecord, path: Buffer, entry: NamedEntry): Explanation | undefined {
  const spec = { spec: { mappings: engineMappings(record) } }
  for (const step of steps(pathFromText(record.path), path)) {
    const found = step.length === path.length ? entry : folderAt(step)
    const error = collisionsIn(spec, parentOf(step))?.(found)
    if (error === undefined) continue
    const decision = error.failure === 'collision' ? 'COLLISION' : 'REFUSED'
    return { decision, explanation: `${textFromPath(step)}: ${error.message}` }
  }
  return undefined
}

async function byTarget(
  record: MigrationRecord,
  path: Buffer,
  entry: NamedEntry,
  refusalAt: MigrationDependencies['refusalAt'],
): Promise<Explanation | undefined> {
  const there = targetPath({ spec: { mappings: engineMappings(record) } }, path)
  const reason = await refusalAt(record.target, there, entry)
  return reason === undefined
    ? undefined
    : { decision: 'REFUSED', explanation: `${record.target} cannot hold it: ${reason}` }
}

function taken(lists: RuleLists, record: MigrationRecord, path: Buffer, entry: NamedEntry): Explanation {
  const there = textFromPath(targetPath({ spec: { mappings: engineMappings(record) } }, path))
  const mapping = leading(record, path)
  const inclusion = lists.inclusions.find(
    ({ id }) => id === new Rules(lists).including(parentOf(path), entry),
  )
  const why =
    inclusion === undefined
      ? `no exclusion matches it${assumed(lists.exclusions, entry)}`
      : `the inclusion ${inclusion.id} matches it or a folder that it is in, and no exclusion does`
  return {
    decision: 'MIGRATED',
    targetPath: there,
    ...(inclusion === undefined ? {} : { inclusion: ruleView('inclusion', inclusion) }),
    ...(mapping === undefined ? {} : { pathMappingId: mapping.id }),
    explanation: why,
  }
}

/** What was taken for granted, where it may matter. */
function assumed(rules: readonly Rule[], { type, sizeBytes }: NamedEntry): string {
  const isJudged = rules.some((rule) => ['fileSize', 'date', 'age'].includes(rule.type))
  return type === 'file' && isJudged ? `, for a file of ${sizeBytes} bytes that was changed when you say` : ''
}
