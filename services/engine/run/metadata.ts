import type { LinkPolicy, Metadata } from '../../../subjects/migrations/model/metadata.ts'
import { defaultLinks, defaultMetadata } from '../../../subjects/migrations/model/terms.ts'
import type { FileAttributes, Loss, Losses, ReadOptions } from '../../drivers/contract/driver.ts'
import type { Counts } from './counts.ts'

/** What of a migration's settings says which metadata is kept. */
export interface MetadataSettings {
  readonly metadata?: Metadata | undefined
  readonly links?: LinkPolicy | undefined
}

export const linksOf = ({ links = defaultLinks }: MetadataSettings): LinkPolicy => links

/** How files and folders of the source are read. */
export const readOptions = (
  settings: MetadataSettings,
): Required<Pick<ReadOptions, 'extended' | 'follow'>> => ({
  extended: (settings.metadata ?? defaultMetadata).attributes,
  follow: linksOf(settings) === 'follow',
})

type Writable<T> = { -readonly [K in keyof T]: T[K] }

/** What of attributes is given to the target. */
export function carried(
  { metadata = defaultMetadata }: MetadataSettings,
  { modifiedMs, mode, owner, ownerNames, extended, layout }: FileAttributes,
): FileAttributes {
  // One by one: spread together, they would cost each of a million files a microsecond.
  const attributes: Writable<FileAttributes> = {}
  if (modifiedMs !== undefined) attributes.modifiedMs = modifiedMs
  if (metadata.modes && mode !== undefined) attributes.mode = mode
  if (metadata.owners && owner !== undefined) attributes.owner = owner
  if (metadata.owners && ownerNames !== undefined) attributes.ownerNames = ownerNames
  if (metadata.attributes && extended !== undefined) attributes.extended = extended
  if (metadata.attributes && layout !== undefined) attributes.layout = layout
  return attributes
}

const countOf = {
  time: 'timesNotKept',
  mode: 'modesNotKept',
  owner: 'ownersNotKept',
  attributes: 'attributesNotKept',
} as const satisfies Record<Loss, keyof Counts>

/** Counts what something lacks at the target. */
export function countLosses(counts: Counts, losses: Losses): void {
  for (const loss of losses) counts[countOf[loss]]++
}

/** Counts a file that has further names at the source. */
export function countNames(counts: Counts, nameCount: number): void {
  if (nameCount > 1) counts.hardLinksSplit++
}
