import type { Input } from '../../../subjects/kit/contract.ts'
import { fieldsOf } from '../../../subjects/kit/json-schema.ts'
import type { bandwidth } from '../../../subjects/migrations/bandwidth.ts'
import { migrations } from '../../../subjects/migrations/migrations.ts'
import { deletionFields } from '../../../subjects/migrations/model/target-match.ts'
import type { Migration } from '../../../subjects/migrations/model/model.ts'

/** A limit is another request, once the migration is there. */
type Limit = Pick<Input<typeof bandwidth.set>, 'limit' | 'unit'>
export type Draft = Partial<Input<typeof migrations.create>> & Limit
type Field = keyof Input<typeof migrations.create>

/** What a migration does when it has copied everything, which decides what else there is to choose. */
export const modes = {
  once: { label: 'Once', says: 'Copies once; does not follow later changes.' },
  live: {
    label: 'Live',
    says: 'Copies everything, then follows its source: changes arrive at the target until you stop it. What is deleted at the source is deleted at the target too; set a limit, or keep a trash, under Options.',
  },
  recurring: {
    label: 'Recurring',
    says: 'Copies everything, then scans again after a period or on a schedule.',
  },
} as const
export type Mode = keyof typeof modes
export const modeNames = Object.keys(modes) as Mode[]

/** How the contract says it. */
const said: Readonly<Record<Mode, Draft>> = {
  once: { scanOnlyMigration: true },
  live: { scanOnlyMigration: false },
  recurring: { recurringMigration: true },
}

/** Fields that some modes have, and others refuse. */
const ofMode: Readonly<Record<Mode, readonly Field[]>> = {
  once: ['targetMatch', 'deletionMode', 'delayedDeletionPeriod'],
  live: ['comparisonPeriodSeconds'],
  recurring: ['targetMatch', 'recurringPeriod', 'recurringSchedule', 'recurringTimeZone', 'recurringWindow'],
}
/** Of migrations that delete at their target: live ones, and those that match it. */
const ofDeletions: readonly Field[] = Object.keys(deletionFields) as Field[]

const rules: readonly Field[] = ['exclusions', 'inclusions', 'defaultExclusions']
const places: readonly Field[] = ['source', 'target', 'path', 'migrationId']
const asMode: readonly Field[] = ['scanOnlyMigration', 'recurringMigration']
/** It is started when its plan has been seen; the second is another name of a mode of deletion. */
const unasked: readonly Field[] = ['autoStart', 'autoSourceCleanupEnabled']
const schedule = ofMode.recurring.filter((name) => name !== 'targetMatch')

/** The mode of a draft; until one is chosen, that of the source. @param isScanOnly of the source */
export function modeOf(
  {
    scanOnlyMigration,
    recurringMigration,
  }: Draft | Pick<Migration, 'scanOnlyMigration' | 'recurringMigration'>,
  isScanOnly = true,
): Mode {
  if (recurringMigration === true) return 'recurring'
  return (scanOnlyMigration ?? isScanOnly) ? 'once' : 'live'
}

/** Whoever copies again and again means what is new. */
const recurringPolicy = 'SkipIfSizeAndTimeMatch'

export function withMode(draft: Draft, mode: Mode): Draft {
  const { scanOnlyMigration: _once, recurringMigration: wasRecurring, ...rest } = draft
  const { actionPolicy, ...others } = rest
  const isUsual = wasRecurring === true && actionPolicy === recurringPolicy
  return {
    ...(mode === 'recurring' && { actionPolicy: recurringPolicy }),
    ...(isUsual ? others : rest),
    ...said[mode],
  }
}

export interface Step {
  readonly title: string
  readonly fields: readonly Field[]
}

/** Fields that say nothing of a migration, as it runs in another mode or deletes nothing. */
export function unfitFields(mode: Mode, { targetMatch }: Pick<Draft, 'targetMatch'>): readonly Field[] {
  const others = modeNames.flatMap((one) => ofMode[one]).filter((name) => !ofMode[mode].includes(name))
  return mode === 'live' || targetMatch === true ? others : [...others, ...ofDeletions]
}

/** What a contract says of limits of deletions, as far as it goes for a mode. */
const deletionText = (text: string, mode: Mode): string =>
  text
    .replace(' (live migrations: within one hour)', mode === 'live' ? ' within one hour' : '')
    .replace(/(default) (\d+) with targetMatch, else no limit/i, mode === 'live' ? '$1: no limit' : '$1: $2')

/** Help for fields whose text is for all modes. */
export const helpsOf = (mode: Mode): Readonly<Record<string, string>> => {
  const all = fieldsOf(migrations.create.input)
  return Object.fromEntries(
    ofDeletions.map((name) => [name, deletionText(all[name]?.description ?? '', mode)]),
  )
}

/** The steps to fill in, each with its fields: those that go with the mode; what no other step has is an option. */
export function stepsOf(mode: Mode, draft: Draft): readonly Step[] {
  const unfit = unfitFields(mode, draft)
  const elsewhere = [...places, ...rules, ...schedule, ...asMode, ...unasked, ...unfit]
  const all = Object.keys(fieldsOf(migrations.create.input)) as Field[]
  return [
    { title: 'Source and target', fields: places },
    { title: 'Rules', fields: rules },
    ...(mode === 'recurring' ? [{ title: 'Schedule', fields: schedule }] : []),
    { title: 'Options', fields: all.filter((name) => !elsewhere.includes(name)) },
  ]
}

/** What of a limit is asked for with a migration; schedules and requests are set on its page. */
export const limitFields = ['limit', 'unit'] as const satisfies readonly (keyof Limit)[]

/** The unit of a limit until another one is chosen. */
export const usualUnit = 'MiB'

/** The limit that a draft has for a migration; undefined where it has none. */
export const limitOf = (
  { limit, unit = usualUnit }: Draft,
  name: string,
): Input<typeof bandwidth.set> | undefined =>
  limit === undefined ? undefined : { scope: 'migration', name, limit, unit }

/** What is sent: what was entered for another mode stays behind. */
export function inputOf(draft: Draft, steps: readonly Step[]): Draft {
  const sent = [...steps.flatMap(({ fields }) => fields), ...asMode]
  return Object.fromEntries(Object.entries(draft).filter(([name]) => sent.includes(name as Field)))
}

/** What makes another migration like this one. */
export function draftOf(migration: Migration): Draft {
  const { userDefinedExclusions, inclusions, recurringPeriodSeconds, recurringWindowSeconds } = migration
  const { path, source, target, targetActionPolicy, scanOnlyMigration, recurringMigration } = migration
  const { recurringSchedule, recurringTimeZone, migrationPriority, links, metadata, targetMatch } = migration
  const ids = (list: readonly { readonly id: string }[]) => list.map(({ id }) => id)
  const { modes, owners, attributes } = metadata
  return {
    path,
    source,
    target,
    actionPolicy: targetActionPolicy,
    migrationPriority,
    links,
    metadata: { modes, owners, attributes },
    ...(targetMatch && { targetMatch }),
    ...(userDefinedExclusions.length > 0 && { exclusions: ids(userDefinedExclusions) }),
    ...(inclusions.length > 0 && { inclusions: ids(inclusions) }),
    ...(recurringMigration ? { recurringMigration } : { scanOnlyMigration }),
    ...(recurringSchedule !== undefined
      ? { recurringSchedule, ...(recurringTimeZone !== undefined && { recurringTimeZone }) }
      : recurringMigration && { recurringPeriod: recurringPeriodSeconds ?? 0 }),
    ...(recurringWindowSeconds !== undefined && { recurringWindow: recurringWindowSeconds }),
  }
}
