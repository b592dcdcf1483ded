import type { Collection } from '../../../broker/state/collection.ts'
import type { FilesystemLook } from '../../../subjects/filesystems/internal.ts'
import type { Entry, StorePath } from '../../drivers/contract/driver.ts'
import type { Handler, Output } from '../../../subjects/kit/contract.ts'
import { GantryError, notAccepted } from '../../../subjects/kit/errors.ts'
import type { exclusions } from '../../../subjects/rules/exclusions.ts'
import type { PatternType, Rule, RuleType } from '../../../subjects/migrations/model/rules.ts'
import { nameOf, parentOf } from '../../drivers/paths/path-text.ts'
import { pathFromText, textFromPath } from '../../drivers/paths/path-text.ts'
import { collisionsIn, targetPath } from '../../engine/run/mappings.ts'
import { isWithin } from '../../engine/items/paths.ts'
import { type NamedEntry, type RuleLists, Rules } from '../../engine/run/rules.ts'
import { programSize, type RuleBook } from './book.ts'
import { engineMappings, leading } from './mappings/frozen.ts'
import type { MigrationRecord } from '../lifecycle/record.ts'
import { judgedOf } from './judged.ts'
import { normalRule } from './normal.ts'
import { ruleView } from './view.ts'

type Test = (typeof exclusions)['test']
type Explanation = Omit<Output<Test>, 'path' | 'judgedAs'>

/** What the handlers of rules work with. */
export interface RuleDependencies {
  readonly records: Collection<typeof MigrationRecord>
  readonly rules: RuleBook
  /** Why a target cannot hold something, or undefined when it can; nothing is asked of the store. */
  readonly refusalAt: (
    fileSystemId: string,
    path: StorePath,
    entry: Pick<Entry, 'type' | 'sizeBytes'>,
  ) => Promise<string | undefined>
  /** What stands at a path of a store. @throws GantryError when it cannot be looked at */
  readonly lookAt: (fileSystemId: string, path: string) => Promise<FilesystemLook>
}

/** Says what happens to a path: in a migration, or by exclusions alone. */
export const explainer =
  ({ records, rules, refusalAt, lookAt }: RuleDependencies): Handler<Test> =>
  async ({ migrationId, path: text, regex, patternType, ...given }) => {
    const record = migrationId === undefined ? undefined : await records.get(migrationId)
    if (migrationId !== undefined && record === undefined)
      throw new GantryError('NOT_FOUND', `there is no migration ${migrationId}`)
    const path = pathFromText(text)
    if (given.modified !== undefined && Number.isNaN(Date.parse(given.modified)))
      throw notAccepted('modified', 'must be a time such as 2026-01-31T12:00:00Z')
    const tried = regex === undefined ? undefined : patternRule(regex, patternType)
    const elsewhere = record && outside(record, path)
    if (elsewhere !== undefined) return { path: textFromPath(path), ...elsewhere }
    const look = record && (() => lookAt(record.source, textFromPath(path)))
    const judged = await judgedOf(given, look)
    const { type, sizeBytes = 0, modifiedMs, open } = judged
    const time = modifiedMs === undefined ? {} : { modifiedMs }
    const entry: NamedEntry = { name: nameOf(path), type, sizeBytes, ...time }
    const root = pathFromText(record?.path ?? '/')
    const answer = (explanation: Explanation) => ({
      path: textFromPath(path),
      ...explanation,
      judgedAs: judged.text,
    })
    if (tried !== undefined) requireQuick({ exclusions: [tried], inclusions: [] }, path)
    const matched = tried && byPattern(tried, root, path, entry)
    if (matched !== undefined) return answer(matched)
    if (record === undefined) {
      if (tried !== undefined)
        return answer({ decision: 'MIGRATED', explanation: 'the pattern does not match the path' })
      const lists = { exclusions: await rules.ofEveryone(), inclusions: [] }
      requireQuick(lists, path)
      const { closed, undecided } = divided(lists, open, path, entry)
      return answer(byRule(closed, root, path, entry, undecided) ?? depends(undecided) ?? unmatched)
    }
    const lists = await rules.of(record)
    requireQuick(lists, path)
    const { closed, undecided } = divided(lists, open, path, entry)
    return answer(
      byRule(closed, root, path, entry, undecided) ??
        byMapping(record, path, entry) ??
        (await byTarget(record, path, entry, refusalAt)) ??
        depends(undecided) ??
        taken(closed, record, path, entry),
    )
  }

const unmatched: Explanation = { decision: 'MIGRATED', explanation: 'no exclusion matches the path' }

/** A pattern that nobody has saved yet. @throws GantryError NOT_ACCEPTED */
const patternRule = (regex: string, patternType: PatternType = 'JAVA_PCRE'): Rule =>
  normalRule({ id: 'pattern', type: 'regex', regex, patternType })

function byPattern(rule: Rule, root: Buffer, path: Buffer, entry: NamedEntry): Explanation | undefined {
  const lists = { exclusions: [rule], inclusions: [] }
  const found = byRule(lists, root, path, entry, { exclusions: [], inclusions: [] })
  if (found === undefined) return undefined
  // It is no rule that one could show.
  const { decision, explanation } = found
  return { decision, explanation: explanation.replace(`the exclusion ${rule.id}`, 'the pattern') }
}

/** The rules that can be decided, and those of the others that matter: what is included anyway needs no more inclusions. */
function divided(
  { exclusions, inclusions }: RuleLists,
  open: ReadonlySet<RuleType>,
  path: Buffer,
  entry: NamedEntry,
): { closed: RuleLists; undecided: RuleLists } {
  const isOpen = ({ type }: Rule) => open.has(type)
  const closed = {
    exclusions: exclusions.filter((rule) => !isOpen(rule)),
    inclusions: inclusions.filter((rule) => !isOpen(rule)),
  }
  const isIncluded = new Rules(closed).including(parentOf(path), entry) !== undefined
  return {
    closed,
    undecided: {
      exclusions: exclusions.filter(isOpen),
      inclusions: isIncluded ? [] : inclusions.filter(isOpen),
    },
  }
}

function depends({ exclusions, inclusions }: RuleLists): Explanation | undefined {
  const [rule] = [...exclusions, ...inclusions]
  if (rule === undefined) return undefined
  const [what, option] = rule.type === 'fileSize' ? ['size', '--size'] : ['time', '--modified']
  const effect = exclusions.length > 0 ? 'exclusion' : 'inclusion'
  return {
    decision: 'DEPENDS',
    ...(effect === 'exclusion'
      ? { exclusion: ruleView('exclusion', rule) }
      : { inclusion: ruleView('inclusion', rule) }),
    explanation: `whether the ${effect} ${rule.id} matches the path depends on its ${what}, which is unknown: specify it with ${option}`,
  }
}

function outside({ path: root }: MigrationRecord, path: Buffer): Explanation | undefined {
  if (isWithin(pathFromText(root), path)) return undefined
  return { decision: 'OUTSIDE', explanation: `the path is outside ${root}, the path of the migration` }
}

/** The folders from the one below the migration's own down to the path itself. */
function steps(root: Buffer, path: Buffer): Buffer[] {
  const found: Buffer[] = []
  for (let at = path; at.length > root.length; at = parentOf(at)) found.push(at)
  return found.toReversed()
}

/**
 * Steps of patterns times the characters that they are matched with, at most: it is done here, where everybody waits
 * meanwhile, and takes a fifth of a second.
 */
export const maxMatching = 20_000_000

/** Each folder on the way is made a text and looked for, also where there are no patterns: about a step for each character. */
const textSize = 1

/** So much of that a path takes. The patterns are looked at once, for all paths. */
export function matchingOf({ exclusions, inclusions }: RuleLists): (path: Buffer) => number {
  const sizeOf = (rules: readonly Rule[]) => rules.reduce((sum, rule) => sum + programSize(rule), 0)
  const size = textSize + sizeOf(exclusions) + sizeOf(inclusions)
  return (path) => {
    const characters = steps(Buffer.alloc(0), path).reduce((sum, { length }) => sum + length, 0)
    return characters * size
  }
}

/** @throws GantryError NOT_ACCEPTED for what would keep others waiting */
function requireQuick(lists: RuleLists, path: Buffer): void {
  if (matchingOf(lists)(path) > maxMatching)
    throw notAccepted(
      'path',
      'is too long, or has too many folders, to be tested with these patterns: test a folder above it',
    )
}

const folderAt = (path: Buffer): NamedEntry => ({
  name: nameOf(path),
  type: 'folder',
  sizeBytes: 0,
})

/** Where on the way from a root to an entry rules leave something out, and the exclusion that does, if it is one. */
export function ruledOut(
  rules: Rules,
  root: Buffer,
): (path: Buffer, entry: NamedEntry) => { readonly step: Buffer; readonly excludedBy?: string } | undefined {
  return (path, entry) => {
    let isIncluded: boolean | undefined
    for (const step of steps(root, path)) {
      const isLast = step.length === path.length
      const { verdict } = rules.inFolder(parentOf(step), isIncluded)
      const its = verdict(isLast ? entry : folderAt(step))
      if (typeof its !== 'object') {
        isIncluded = its === 'taken'
        continue
      }
      const { excludedBy } = its
      return { step, ...(excludedBy === undefined ? {} : { excludedBy }) }
    }
    return undefined
  }
}

function byRule(
  lists: RuleLists,
  root: Buffer,
  path: Buffer,
  entry: NamedEntry,
  undecided: RuleLists,
): Explanation | undefined {
  const out = ruledOut(new Rules(lists), root)(path, entry)
  if (out === undefined) return undefined
  const { step, excludedBy } = out
  const at = step.length === path.length ? 'the path' : `the folder ${textFromPath(step)}`
  const rule = lists.exclusions.find(({ id }) => id === excludedBy)
  if (rule === undefined) {
    // One that is not decided may match something below.
    if (undecided.inclusions.length > 0) return undefined
    return { decision: 'NOT_INCLUDED', explanation: `no inclusion of the migration matches ${at}` }
  }
  return {
    decision: 'EXCLUDED',
    exclusion: ruleView('exclusion', rule),
    explanation: `the exclusion ${rule.id} matches ${at}`,
  }
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
  refusalAt: RuleDependencies['refusalAt'],
): Promise<Explanation | undefined> {
  const there = targetPath({ spec: { mappings: engineMappings(record) } }, path)
  const reason = await refusalAt(record.target, there, entry)
  return reason === undefined
    ? undefined
    : { decision: 'REFUSED', explanation: `${record.target} cannot store the path: ${reason}` }
}

function taken(lists: RuleLists, record: MigrationRecord, path: Buffer, entry: NamedEntry): Explanation {
  const there = textFromPath(targetPath({ spec: { mappings: engineMappings(record) } }, path))
  const mapping = leading(record, path)
  const inclusion = lists.inclusions.find(
    ({ id }) => id === new Rules(lists).including(parentOf(path), entry),
  )
  const why =
    inclusion === undefined
      ? unmatched.explanation
      : `the inclusion ${inclusion.id} matches the path or a parent folder, and no exclusion does`
  return {
    decision: 'MIGRATED',
    targetPath: there,
    ...(inclusion === undefined ? {} : { inclusion: ruleView('inclusion', inclusion) }),
    ...(mapping === undefined ? {} : { pathMappingId: mapping.id }),
    explanation: why,
  }
}
