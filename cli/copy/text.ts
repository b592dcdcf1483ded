import type { Output } from '../../subjects/kit/contract.ts'
import { product } from '../../subjects/kit/names.ts'
import type { Migration } from '../../subjects/migrations/model/model.ts'
import type { migrations } from '../../subjects/migrations/migrations.ts'
import { plural } from '../../subjects/kit/plural.ts'
import { sizeText } from '../../subjects/kit/binary-size.ts'
import { countText } from '../output/format.ts'

type Plan = Output<(typeof migrations)['plan']>
type NotKept = Migration['notKept']

/** `1,234 files` */
export const filesText = (count: number): string => plural(count, 'file', countText)

/** Options that a copy was run without the last time, and those that it is run without now. */
export interface Changes {
  readonly added: readonly string[]
  readonly removed: readonly string[]
}

/** In what a copy differs from the last one of the same places. */
export function changesText({ added, removed }: Changes): string {
  const parts = [
    ...(added.length > 0 ? [`with ${added.join(', ')}`] : []),
    ...(removed.length > 0 ? [`without ${removed.join(', ')}`] : []),
  ]
  return `Different from the last run of this copy: ${parts.join('; ')}.`
}

/** What a copy will do, and what it will leave out, with the command that lists that. */
export function planText({ migrationId, ...plan }: Plan): string {
  const { filesToCopy, bytesToCopy, filesToReplace, bytesToReplace, pathsRefused, unreadablePaths } = plan
  const {
    filesToCompare,
    bytesToCompare,
    filesToSkip,
    filesExcluded,
    bytesExcluded,
    foldersExcluded,
    warning,
  } = plan
  const left = [
    ...(pathsRefused > 0 ? [`${countText(pathsRefused)} cannot be copied`] : []),
    ...(unreadablePaths > 0 ? [`${plural(unreadablePaths, 'path', countText)} cannot be read`] : []),
  ]
  const excluded = [
    ...(filesExcluded > 0 ? [`${filesText(filesExcluded)} (${sizeText(bytesExcluded)})`] : []),
    ...(foldersExcluded > 0 ? [plural(foldersExcluded, 'folder', countText)] : []),
  ]
  const whole = [
    `copy ${filesText(filesToCopy + filesToReplace)} (${sizeText(bytesToCopy + bytesToReplace)})`,
    ...(filesToCompare > 0
      ? [`compare the content of ${filesText(filesToCompare)} (${sizeText(bytesToCompare)})`]
      : []),
    ...(filesToSkip > 0 ? [`skip ${filesText(filesToSkip)} already at the target`] : []),
    ...(excluded.length > 0 ? [`leave out ${excluded.join(' and ')} by rules`] : []),
    ...left,
  ]
  const fix =
    left.length === 0
      ? '.'
      : `; list ${pathsRefused + unreadablePaths === 1 ? 'it' : 'them'} with "${product} migrations plan ${migrationId}".`
  return `Plan: ${whole.join(', ')}${fix}${warning === undefined ? '' : `\nWarning: the copy ${warning}.`}`
}

/** Counts of a plan that stay 0 where the source has no file at all. */
const ofSource: readonly (keyof Plan)[] = [
  'filesToCopy',
  'filesToReplace',
  'filesToCompare',
  'filesToSkip',
  'filesExcluded',
  'foldersExcluded',
  'pathsRefused',
  'unreadablePaths',
]

/** Of these, those that are left out. */
const ofExcluded: readonly (keyof Plan)[] = ['filesExcluded', 'foldersExcluded']

/**
 * Says that a source has no files, most often as its path is wrong, or that rules leave out all that it has; undefined where
 * it has some, or may have.
 */
export function noFilesText(source: string, plan: Plan): string | undefined {
  const has = (names: readonly (keyof Plan)[]) => names.some((name) => plan[name] !== 0)
  if (!has(ofSource)) return `The source ${source} has no files: check its path.`
  if (has(ofSource.filter((name) => !ofExcluded.includes(name)))) return undefined
  return `The rules leave out everything that the source ${source} has: check --exclude and --include.`
}

/** Says which globs leave out nothing, most often as they are mistyped; undefined where each leaves out something. */
export function unmatchedText(
  globs: readonly { readonly id: string; readonly option: string }[],
  { status, excludedByRule, filesExcluded, foldersExcluded }: Plan,
): string | undefined {
  if (status !== 'COMPLETE') return undefined
  const effective = excludedByRule.filter(({ files, folders }) => files + folders > 0).map(({ id }) => id)
  const options = globs.filter(({ id }) => !effective.includes(id)).map(({ option }) => option)
  if (options.length === 0) return undefined
  // The first rule that matches a path counts, and nothing below a folder that is left out.
  const others = filesExcluded + foldersExcluded === 0 ? '' : ', or only paths that other rules leave out'
  return `Nothing matches ${options.join(', ')}${others}: give globs of paths from SOURCE on, such as /logs/** or *.tmp.`
}

/** What arrives without each, and why where that is always the same. */
const lacking: Readonly<Record<keyof NotKept, (count: number) => string>> = {
  owners: (count) =>
    `the owners of ${plural(count, 'path', countText)} (only root can change owners, and not every target keeps them)`,
  modes: (count) => `permission bits of ${plural(count, 'path', countText)}`,
  times: (count) => `the times of ${plural(count, 'path', countText)}`,
  attributes: (count) => `attributes of ${plural(count, 'path', countText)}`,
  links: (count) => plural(count, 'symbolic link', countText),
  hardLinks: (count) => `the hard links of ${filesText(count)}, each of which is a file of its own now`,
}

/** Compared by a verification of metadata, which lists them. */
const compared: readonly (keyof NotKept)[] = ['owners', 'modes', 'times', 'attributes']

/** What of the copied files the target did not keep, with the command that lists the paths; undefined where it kept all. */
export function notKeptText({
  migrationId,
  notKept,
}: Pick<Migration, 'migrationId' | 'notKept'>): string | undefined {
  const names = (Object.keys(lacking) as (keyof NotKept)[]).filter((name) => notKept[name] > 0)
  if (names.length === 0) return undefined
  const fix = names.some((name) => compared.includes(name))
    ? `; list the paths with "${product} verifications create ${migrationId} --level metadata" and "${product} verifications report <id>"`
    : ''
  return `Not kept at the target by this run: ${names.map((name) => lacking[name](notKept[name])).join(', ')}${fix}.`
}
