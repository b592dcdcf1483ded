import type { Input, Output } from '../../subjects/kit/contract.ts'
import { type ErrorCode, GantryError, isGantryError } from '../../subjects/kit/errors.ts'
import { product } from '../../subjects/kit/names.ts'
import { filesystems } from '../../subjects/filesystems/filesystems.ts'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { type ActionPolicy, defaultMetadata } from '../../subjects/migrations/model/terms.ts'
import type { VerificationLevel } from '../../subjects/migrations/model/verification-terms.ts'
import { verifications } from '../../subjects/migrations/verifications.ts'
import { plural } from '../../subjects/kit/plural.ts'
import { maxTextLength } from '../../subjects/kit/schemas.ts'
import { shellWord } from '../../subjects/kit/shell-word.ts'
import type { RuleEffect, RuleView } from '../../subjects/migrations/model/rules.ts'
import { exclusions } from '../../subjects/rules/exclusions.ts'
import { inclusions } from '../../subjects/rules/inclusions.ts'
import { pathMappings } from '../../subjects/rules/path-mappings.ts'
import { endedJob } from '../commands/job-end.ts'
import { type Context, type Globals, withSession } from '../context.ts'
import { exitCodes } from '../exit-codes.ts'
import { inWords, RefusedInput } from '../failure.ts'
import { sizeText } from '../../subjects/kit/binary-size.ts'
import { countText } from '../output/format.ts'
import { wantedOf } from '../output/form.ts'
import { present } from '../output/present.ts'
import { printable, type Terminal } from '../output/terminal.ts'
import type { Session } from '../sign-in/session.ts'
import { stopSignals } from '../signals.ts'
import { asTyped } from '../as-typed.ts'
import { OfFiles } from '../watch/of-files.ts'
import { watch } from '../watch/watch.ts'
import { digestOf, type Found, filesystemOf, nameOf, type Place, placeOf } from './places.ts'
import {
  type Changes,
  changesText,
  filesText,
  noFilesText,
  notKeptText,
  planText,
  unmatchedText,
} from './text.ts'
import { requireUsable } from './usable.ts'

export interface CopyOptions {
  readonly sourceOption?: readonly string[]
  readonly targetOption?: readonly string[]
  /** Globs. */
  readonly exclude?: readonly string[]
  readonly include?: readonly string[]
  readonly attributes?: true
  readonly checksum?: true
  readonly dryRun?: true
  readonly verifyLevel: VerificationLevel
}

type Migration = Output<(typeof migrations)['get']>
type Plan = Output<(typeof migrations)['plan']>
type Verification = Output<(typeof verifications)['get']>

/**
 * `gantry copy`: adds the filesystems, plans, migrates once, verifies. Resolves to the exit code: 0 only where all has
 * arrived and the verification found no difference. The platform goes on without us.
 */
export async function copy(
  context: Context,
  globals: Globals,
  [sourceText, targetText]: readonly [string, string],
  options: CopyOptions,
): Promise<number> {
  const source = placeOf(sourceText, options.sourceOption ?? [], context)
  const target = placeOf(targetText, options.targetOption ?? [], context)
  wantedOf(globals)
  const migrationId = `copy-${nameOf(source.text, [where(source), where(target)].join(' '))}`
  const job = {
    source,
    target,
    migrationId,
    rules: rulesOf(migrationId, source, options),
    attributes: options.attributes === true,
    // As other tools that copy compare by default; what is the same is not copied again.
    actionPolicy: options.checksum === true ? 'SkipIfDigestMatch' : 'SkipIfSizeAndTimeMatch',
  } as const
  const signals = stopSignals(() => undefined)
  const phase = { isCopied: false }
  try {
    return await Promise.race([
      options.dryRun === true
        ? dryRun(context, globals, job)
        : migrate(context, globals, job, { level: options.verifyLevel, phase }),
      signals.first.then(() => interrupted(context, job.migrationId, options, phase)),
    ])
  } finally {
    signals.dispose()
  }
}

/** Which files are copied. */
interface GlobRule extends OwnRule {
  readonly glob: string
}

/** A rule that was made for a copy. */
interface OwnRule {
  readonly effect: RuleEffect
  readonly id: string
}

/** One that a migration has; somebody else may have made it, without a glob. */
interface KnownRule extends OwnRule {
  readonly glob: string | undefined
}

/** The same glob has the same name each time. One that begins with a slash is one from the source on, as it was typed. */
function rulesOf(
  migrationId: string,
  { path }: Place,
  { exclude = [], include = [] }: CopyOptions,
): readonly GlobRule[] {
  const root = path === '/' ? '' : asGlob(path)
  const anchored = (glob: string) => (glob.startsWith('/') ? root + glob : glob)
  const of = (effect: RuleEffect, globs: readonly string[]) =>
    [...new Set(globs)].map(anchored).map((glob) => ({
      effect,
      glob,
      id: `${migrationId}-${effect}-${digestOf(glob)}`,
    }))
  return [...of('exclusion', exclude), ...of('inclusion', include)]
}

const asGlob = (path: string): string => path.replaceAll(/[\\*?[\]{}]/g, String.raw`\$&`)

/** Those of a migration, which may have rules of others too. */
function ownRulesOf({ migrationId, userDefinedExclusions, inclusions: including }: Migration): KnownRule[] {
  const of = (effect: RuleEffect, rules: readonly RuleView[]) =>
    rules
      .filter(({ deletedWith }) => deletedWith === migrationId)
      .map(({ id, regex: glob }) => ({ effect, id, glob }))
  return [...of('exclusion', userDefinedExclusions), ...of('inclusion', including)]
}

/** The option of a glob as it was typed: one that begins with a slash begins at the source. */
function typedRule({ path }: Place, { effect, id, glob }: KnownRule): string {
  if (glob === undefined) return `the ${effect} ${id}`
  const root = path === '/' ? '' : asGlob(path)
  return `${flags[effect]} ${shellWord(glob.startsWith(`${root}/`) ? glob.slice(root.length) : glob)}`
}

const flags = { exclusion: '--exclude', inclusion: '--include' } as const
const contractsOf = { exclusion: exclusions, inclusion: inclusions } as const

/** What is to be copied. */
interface Job {
  readonly source: Place
  readonly target: Place
  readonly rules: readonly GlobRule[]
  /** Whether extended attributes and access control lists are kept. */
  readonly attributes: boolean
  /** By what a file at the target is the same. */
  readonly actionPolicy: ActionPolicy
  /** The same for the same job. */
  readonly migrationId: string
}

const notVerifiedText = (migrationId: string, level: VerificationLevel): string =>
  `Not verified, as the copy is incomplete; to verify what arrived, run "${product} verifications create ${migrationId} --level ${level}".`

/** What a place is, whoever types it. */
const where = ({ filesystem, path }: Place): string =>
  typeof filesystem === 'string'
    ? `${filesystem}:${path}`
    : `${filesystem.kind} ${String(filesystem.options[filesystem.by])} ${path}`

function interrupted(
  { terminal }: Context,
  migrationId: string,
  { dryRun: isDry }: CopyOptions,
  { isCopied }: Phase,
): number {
  const text = isDry
    ? 'Interrupted. Run the same command again to continue.'
    : isCopied
      ? 'Interrupted. All files are copied, but not verified: run the same command again to verify them.'
      : `Interrupted. The migration continues on the platform: watch it with "${product} watch ${migrationId}", stop it with "${product} migrations stop ${migrationId}". Run the same command again to finish and verify the copy.`
  terminal.err(`\n${asTyped(terminal, text)}\n`)
  return exitCodes.interrupted.status
}

/** How far a copy is. */
interface Phase {
  isCopied: boolean
}

/** Filesystems, path mapping, rules and migration; those that were there are taken. */
interface Prepared {
  readonly migration: Migration
  readonly made: Made
  readonly isNew: boolean
  /** What one that was there is run with now, or was run with before. */
  readonly changes: Changes
  /** Rules to plan with, where one that was there has other globs and keeps them. */
  readonly instead?: Instead
}

const noChanges: Changes = { added: [], removed: [] }

const isAnyOf = ({ added, removed }: Changes): boolean => added.length + removed.length > 0

type Instead = Pick<Input<(typeof migrations)['plan']>, 'actionPolicy' | 'exclusions' | 'inclusions'>

/** @param isTried whether source and target are checked, for which the target is written to */
async function prepare(session: Session, job: Job, isTried: boolean): Promise<Prepared> {
  const made: Made = { added: [], mapping: undefined, rules: [] }
  try {
    return await prepared(session, made, job, isTried)
  } catch (error) {
    if (isGantryError(error, 'ALREADY_EXISTS')) {
      // The same command, at the same time, was a moment ahead.
      const migration = await unlessMissing(session.call(migrations.get, { migrationId: job.migrationId }))
      if (migration !== undefined) {
        await dropMapping(session, made)
        return { migration, made, isNew: false, changes: noChanges }
      }
    }
    // What was added for nothing would be in the way of the next try; a migration that may be there needs it.
    if (!mayBeDone.some((code) => isGantryError(error, code)))
      await takeBack(session, made).catch(() => undefined)
    throw error
  }
}

/** With these a call may have been carried out. */
const mayBeDone = ['TIMEOUT', 'UNAVAILABLE', 'INTERNAL'] as const

/** What was added so far. */
interface Made {
  readonly added: (Found & { readonly role: 'source' | 'target' })[]
  mapping: string | undefined
  readonly rules: OwnRule[]
}

async function dropMapping(session: Session, made: Made): Promise<void> {
  if (made.mapping !== undefined) await session.call(pathMappings.delete, { pathMappingId: made.mapping })
  made.mapping = undefined
}

async function takeBack(session: Session, made: Made): Promise<void> {
  const { added, rules } = made
  // They go with the migration, if there was one.
  for (const { effect, id } of rules) await unlessMissing(session.call(contractsOf[effect].delete, { id }))
  await dropMapping(session, made)
  for (const { fileSystemId, role } of added) await session.call(filesystems.delete, { fileSystemId, role })
}

async function prepared(session: Session, made: Made, job: Job, isTried: boolean): Promise<Prepared> {
  const { source, target, rules, migrationId, attributes, actionPolicy } = job
  const { added } = made
  const find = async (role: 'source' | 'target', place: Place) => {
    const found = await filesystemOf(session, role, place)
    if (found.isAdded) added.push({ ...found, role })
    return found
  }
  const from = await find('source', source)
  const to = await find('target', target)
  if (isTried) {
    await requireUsable(session, 'source', source, from)
    await requireUsable(session, 'target', target, to)
  }
  const known = await unlessMissing(session.call(migrations.get, { migrationId }))
  if (known !== undefined) {
    if (attributes && !known.metadata.attributes)
      throw new GantryError(
        'NOT_ALLOWED_IN_STATE',
        `${migrationId} was made without --attributes: delete it with "${product} migrations delete ${migrationId}", then run the copy again`,
      )
    const there = { migration: known, made, isNew: false, changes: changesOf(known, job) }
    if (!isTried) {
      const instead = { ...(await plannedRules(session, made, known, rules)), actionPolicy }
      return { ...there, instead }
    }
    await changeRules(session, known, rules)
    await changePolicy(session, known, actionPolicy)
    return there
  }
  made.mapping =
    source.path === target.path ? undefined : await map(session, migrationId, [from, source], [to, target])
  for (const rule of rules) {
    if (await makeRule(session, migrationId, rule)) made.rules.push(rule)
  }
  const namesOf = (effect: RuleEffect) => rules.filter((one) => one.effect === effect).map(({ id }) => id)
  const created = session.call(migrations.create, {
    migrationId,
    path: source.path,
    source: from.fileSystemId,
    target: to.fileSystemId,
    actionPolicy,
    scanOnlyMigration: true,
    autoStart: false,
    ...(attributes && { metadata: { ...defaultMetadata, attributes } }),
    ...(rules.length > 0 && { exclusions: namesOf('exclusion'), inclusions: namesOf('inclusion') }),
  })
  const migration = await created.catch((error: unknown) => {
    throw withPlaces(error, [
      [from, source],
      [to, target],
    ])
  })
  // The migration keeps what it says; here it would only be in the way of other copies.
  await dropMapping(session, made)
  return { migration, made, isNew: true, changes: noChanges }
}

/** The error with places as they were typed, in place of the names that filesystems were given. */
function withPlaces(error: unknown, places: readonly (readonly [Found, Place])[]): unknown {
  if (!isGantryError(error, 'NOT_ACCEPTED')) return error
  const said = error.message.replace(/^input: target /, 'TARGET ')
  return new RefusedInput(
    error,
    places.reduce(
      (text, [{ fileSystemId }, place]) =>
        text.replaceAll(`${place.path} in ${fileSystemId}`, () => place.text),
      said,
    ),
  )
}

/** Makes a rule, or takes the one that an earlier try left. Returns whether it was made. */
async function makeRule(
  session: Session,
  migrationId: string,
  { effect, id, glob }: GlobRule,
): Promise<boolean> {
  const { get, ...create } = contractsOf[effect]
  if ((await unlessMissing(session.call(get, { id }))) !== undefined) return false
  const description = `Made by ${product} copy for ${glob}`.slice(0, maxTextLength)
  const rule = { id, description, deletedWith: migrationId, patternType: 'GLOB', regex: glob } as const
  await session.call(create['create-regex'], rule).catch((error: unknown) => {
    throw inWords(error, (field) => (field === 'regex' ? flags[effect] : undefined))
  })
  return true
}

/** Which of the globs that are wanted a migration lacks, and which it has beside them. */
function differenceOf(migration: Migration, wanted: readonly GlobRule[]) {
  const own = ownRulesOf(migration)
  const isIn = (rules: readonly OwnRule[]) => (rule: OwnRule) => rules.some(({ id }) => id === rule.id)
  const added = wanted.filter((rule) => !isIn(own)(rule))
  const removed = own.filter((rule) => !isIn(wanted)(rule))
  return { added, removed }
}

/** How a policy is asked for; undefined for the one that is so without an option. */
const policyOption = (policy: ActionPolicy): string | undefined =>
  policy === 'SkipIfDigestMatch'
    ? '--checksum'
    : policy === 'SkipIfSizeAndTimeMatch'
      ? undefined
      : `the action policy ${policy}`

/** In what a copy differs from the migration that an earlier one left. */
function changesOf(migration: Migration, { source, rules, actionPolicy }: Job): Changes {
  const { added, removed } = differenceOf(migration, rules)
  const typed = (some: readonly KnownRule[]) => some.map((rule) => typedRule(source, rule))
  const { targetActionPolicy: before } = migration
  const policy = (one: ActionPolicy) => (before === actionPolicy ? [] : (policyOption(one) ?? []))
  return {
    added: [policy(actionPolicy), typed(added)].flat(),
    removed: [policy(before), typed(removed)].flat(),
  }
}

/** The rules that a migration would have with the globs that are wanted; those that there are not yet are made for the plan. */
async function plannedRules(
  session: Session,
  made: Made,
  migration: Migration,
  wanted: readonly GlobRule[],
): Promise<Instead> {
  const { migrationId } = migration
  const { added, removed } = differenceOf(migration, wanted)
  if (added.length + removed.length === 0) return {}
  for (const rule of added) if (await makeRule(session, migrationId, rule)) made.rules.push(rule)
  const of = async (effect: RuleEffect) => {
    const attached = await session.call(contractsOf[effect].attached, { migrationId })
    const gone = new Set(removed.map(({ id }) => id))
    const kept = attached.map(({ id }) => id).filter((id) => !gone.has(id))
    return [...kept, ...added.filter((rule) => rule.effect === effect).map(({ id }) => id)]
  }
  return { exclusions: await of('exclusion'), inclusions: await of('inclusion') }
}

/**
 * Gives a migration that was there the globs that are wanted now.
 * @throws GantryError NOT_ALLOWED_IN_STATE where it is under way
 */
async function changeRules(
  session: Session,
  migration: Migration,
  wanted: readonly GlobRule[],
): Promise<void> {
  const { migrationId, state } = migration
  const { added, removed } = differenceOf(migration, wanted)
  if (added.length === 0 && removed.length === 0) return
  if (!atRest.includes(state)) throw underWay(migrationId, state, 'with other globs')
  for (const rule of added) {
    await makeRule(session, migrationId, rule)
    await session.call(contractsOf[rule.effect].attach, { migrationId, id: rule.id })
  }
  for (const { effect, id } of removed) {
    await session.call(contractsOf[effect].detach, { migrationId, id })
    // Somebody may have given it to another migration.
    await unless('IN_USE', session.call(contractsOf[effect].delete, { id }))
  }
}

/**
 * Has a migration that was there compare in the way that is wanted now.
 * @throws GantryError NOT_ALLOWED_IN_STATE where it is under way
 */
async function changePolicy(
  session: Session,
  { migrationId, state, targetActionPolicy }: Migration,
  actionPolicy: ActionPolicy,
): Promise<void> {
  if (targetActionPolicy === actionPolicy) return
  if (!atRest.includes(state)) {
    const how = policyOption(targetActionPolicy)
    throw underWay(migrationId, state, how === undefined ? 'without --checksum' : `with ${how}`)
  }
  await session.call(migrations.update, { migrationId, actionPolicy })
}

/** The error for a copy that goes on in another way. */
const underWay = (migrationId: string, state: string, how: string): GantryError =>
  new GantryError(
    'NOT_ALLOWED_IN_STATE',
    `${migrationId} is ${state} ${how}: wait for it with "${product} watch ${migrationId}", or stop it with "${product} migrations stop ${migrationId}"`,
  )

/** States in which a copy begins, or goes on. */
const atRest: readonly Migration['state'][] = ['NONSCHEDULED', 'COMPLETED', 'STOPPED']

/** A migration keeps paths; where they differ a path mapping says so. */
async function map(
  session: Session,
  pathMappingId: string,
  [from, source]: readonly [Found, Place],
  [to, target]: readonly [Found, Place],
): Promise<string | undefined> {
  const known = await unlessMissing(session.call(pathMappings.get, { pathMappingId }))
  if (known !== undefined) return undefined
  await session.call(pathMappings.create, {
    pathMappingId,
    description: `${source.text} to ${target.text}`,
    sourceFileSystem: from.fileSystemId,
    sourcePath: source.path,
    targetFileSystem: to.fileSystemId,
    targetPath: target.path,
  })
  return pathMappingId
}

const unlessMissing = <T>(reply: Promise<T>): Promise<T | undefined> => unless('NOT_FOUND', reply)

async function unless<T>(code: ErrorCode, reply: Promise<T>): Promise<T | undefined> {
  try {
    return await reply
  } catch (error) {
    if (isGantryError(error, code)) return undefined
    throw error
  }
}

async function planned(session: Session, migrationId: string, instead: Instead): Promise<Plan> {
  let plan = await session.call(migrations.plan, { migrationId, ...instead })
  while (plan.status === 'IN_PROGRESS')
    plan = await session.call(migrations.plan, { migrationId, planId: plan.planId })
  return plan
}

/** Of no use once the plan and its migration are gone. */
const ofStoredPlan: readonly string[] = ['planId', 'migrationId', 'startedAt'] satisfies (keyof Plan)[]

function forPeople({ samples, ...plan }: Plan, { source, rules }: Job): object {
  const typed = (reason: string) =>
    rules.reduce((text, rule) => text.replaceAll(rule.id, () => typedRule(source, rule)), reason)
  return {
    ...Object.fromEntries(Object.entries(plan).filter(([name]) => !ofStoredPlan.includes(name))),
    samples: samples.map(({ reason, ...one }) => ({
      ...one,
      ...(reason !== undefined && { reason: typed(reason) }),
    })),
  }
}

/** Shows the plan, and takes away what was made for it. */
async function dryRun(context: Context, globals: Globals, job: Job): Promise<number> {
  const { migrationId } = job
  await withSession(context, globals, async (session) => {
    const { made, isNew, changes, instead = {} } = await prepare(session, job, false)
    try {
      tellChanges(context, changes)
      const plan = await planned(session, migrationId, instead)
      const wanted = wantedOf(globals)
      present(context.terminal, migrations.plan, wanted.form === 'table' ? forPeople(plan, job) : plan, {
        ...wanted,
        input: {},
      })
      tellNothing(context, job, plan)
      context.terminal.err('Dry run: nothing was copied.\n')
    } finally {
      if (isNew) await session.call(migrations.delete, { migrationId })
      await takeBack(session, made)
    }
  })
  return exitCodes.ok.status
}

async function migrate(
  context: Context,
  globals: Globals,
  job: Job,
  { level, phase }: { readonly level: VerificationLevel; readonly phase: Phase },
): Promise<number> {
  const { terminal } = context
  const { migrationId } = job
  await withSession(context, globals, async (session) => {
    const all = await prepare(session, job, true)
    for (const { fileSystemId, role } of all.made.added) terminal.err(`Added ${role} ${fileSystemId}.\n`)
    tellChanges(context, all.changes)
    await begin(context, session, job, all)
  })
  const code = await watch(context, globals, new OfFiles(migrationId))
  if (code !== exitCodes.unreachable.status) await tellNotKept(context, globals, migrationId)
  if (code !== exitCodes.ok.status) {
    if (code === exitCodes.failed.status) {
      terminal.err(`${asTyped(terminal, notVerifiedText(migrationId, level))}\n`)
      await tellExclude(context, globals, job)
    }
    return code
  }
  phase.isCopied = true
  const verification = await withSession(context, globals, (session) =>
    verified(session, terminal, migrationId, level),
  )
  if (wantedOf(globals).form === 'table') terminal.out(`${asTyped(terminal, resultText(verification))}\n`)
  else present(terminal, verifications.get, verification, { ...wantedOf(globals), input: {} })
  return isRight(verification) ? exitCodes.ok.status : exitCodes.failed.status
}

/** What is typed is all that a copy is run with: what was typed the last time alone no longer holds. */
function tellChanges({ terminal }: Context, changes: Changes): void {
  if (isAnyOf(changes)) terminal.err(`${printable(changesText(changes))}\n`)
}

/** A path that is wrong is found as nothing else is: all that is in it, which is nothing, arrives. So is a glob. */
function tellNothing({ terminal }: Context, { source, rules }: Job, plan: Plan): void {
  const globs = rules
    .filter(({ effect }) => effect === 'exclusion')
    .map((rule) => ({ id: rule.id, option: typedRule(source, rule) }))
  for (const text of [noFilesText(source.text, plan), unmatchedText(globs, plan)])
    if (text !== undefined) terminal.err(`${printable(text)}\n`)
}

/** Says how to go on without what cannot be copied, with one path of it. */
async function tellExclude(
  context: Context,
  globals: Globals,
  { source, migrationId }: Pick<Job, 'source' | 'migrationId'>,
): Promise<void> {
  const { failedPaths } = await withSession(context, globals, (session) =>
    session.call(migrations.failures, { migrationId, limit: 1 }),
  )
  // Of a folder in a filesystem the paths begin with it.
  const [first] = failedPaths
  if (first === undefined) return
  const path = source.path === '/' ? first.path : first.path.slice(source.path.length)
  if (path === '' || path === '/') return
  const mend = first.failureClass === 'permission' ? 'allow access' : 'fix the reason that the list shows'
  const glob = shellWord(asGlob(path))
  context.terminal.err(
    `${printable(`To leave out paths, add --exclude, such as --exclude ${glob}. Or ${mend}, and run the same command again.`)}\n`,
  )
}

/** Says what of the files the target did not keep. */
async function tellNotKept(context: Context, globals: Globals, migrationId: string): Promise<void> {
  const migration = await withSession(context, globals, (session) =>
    session.call(migrations.get, { migrationId }),
  )
  const text = notKeptText(migration)
  if (text !== undefined) context.terminal.err(`${asTyped(context.terminal, text)}\n`)
}

/** Starts the migration, or goes on with it; one that is completed, or has other globs now, is run again. */
async function begin(
  context: Context,
  session: Session,
  job: Job,
  { migration: { migrationId, state }, changes }: Prepared,
): Promise<void> {
  const { terminal } = context
  if (!atRest.includes(state)) {
    terminal.err(`${migrationId} is already ${state}.\n`)
    return
  }
  if (state === 'STOPPED' && !isAnyOf(changes)) {
    await session.call(migrations.resume, { migrationId })
    return
  }
  const plan = await planned(session, migrationId, {})
  terminal.err(`${asTyped(terminal, planText(plan))}\n`)
  tellNothing(context, job, plan)
  try {
    await session.call(state === 'NONSCHEDULED' ? migrations.start : migrations.reset, { migrationId })
  } catch (error) {
    if (!isGantryError(error, 'NOT_ALLOWED_IN_STATE')) throw error
    // Where the same command was started twice, the other one goes on with it.
    const now = await session.call(migrations.get, { migrationId })
    if (atRest.includes(now.state)) throw error
    terminal.err(`${migrationId} is already ${now.state}.\n`)
  }
}

async function verified(
  session: Session,
  terminal: Terminal,
  migrationId: string,
  level: VerificationLevel,
): Promise<Verification> {
  const created: Verification = await session.call(verifications.create, { migrationId, level })
  const { get } = verifications
  const verification = await endedJob(session, terminal, created, get, { verificationId: created.id })
  if (verification.status !== 'COMPLETE' && verification.message === undefined)
    throw new GantryError('NOT_ALLOWED_IN_STATE', `the verification ${verification.id} was cancelled`)
  return verification
}

const isRight = ({ status, totalDiscrepancies, unreadablePaths }: Verification): boolean =>
  status === 'COMPLETE' && totalDiscrepancies === 0 && unreadablePaths === 0

/** Of each kind of difference how many there are. */
function differencesIn(verification: Verification): string[] {
  const kinds = [
    [verification.filesMissingOnTarget, 'file', 'missing at the target'],
    [verification.directoriesMissingOnTarget, 'folder', 'missing at the target'],
    [verification.filesMissingOnSource, 'file', 'only at the target'],
    [verification.directoriesMissingOnSource, 'folder', 'only at the target'],
    [verification.typeMismatches, 'path', 'of different types'],
    [verification.fileSizeMismatches, 'file', 'of different sizes'],
    [verification.fileDigestMismatches, 'file', 'with different content'],
    [verification.fileTimeMismatches, 'file', 'with different times'],
    [verification.metadataMismatches, 'path', 'with different metadata'],
    [verification.filesExcludedExistsOnTarget, 'excluded file', 'at the target'],
    [verification.directoriesExcludedExistsOnTarget, 'excluded folder', 'at the target'],
  ] as const
  const known = kinds.reduce((sum, [count]) => sum + count, verification.unreadablePaths)
  const others = verification.totalDiscrepancies - known
  return [
    ...kinds.flatMap(([count, noun, what]) =>
      count === 0 ? [] : [`${plural(count, noun, countText)} ${what}`],
    ),
    ...(others > 0 ? [plural(others, 'other difference', countText)] : []),
  ]
}

function resultText(verification: Verification): string {
  const { id, level, filesOnSource, bytesOnSource, unreadablePaths, message } = verification
  if (isRight(verification))
    return `Verified by ${level}: ${filesText(filesOnSource)} (${sizeText(bytesOnSource)}), no differences.`
  const why = [
    ...differencesIn(verification),
    ...(unreadablePaths > 0 ? [plural(unreadablePaths, 'unreadable path', countText)] : []),
    ...(message === undefined ? [] : [message]),
  ]
  const isCompared = message === undefined && unreadablePaths === 0
  const fix =
    verification.fileDigestMismatches > 0
      ? '\nFiles of the same size and time are not copied again: add --checksum to compare their content.'
      : ''
  return `${isCompared ? `Verified by ${level}, with differences` : 'Not verified'}: ${why.join(', ')}; see "${product} verifications report ${id}".${fix}`
}
