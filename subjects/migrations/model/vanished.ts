import { Type } from 'typebox'
import { plural } from '../../kit/plural.ts'
import { Count } from '../../kit/schemas.ts'

const whatFor =
  'counted since the full scan began. Everything that stayed is copied; renamed files are copied by the next scan. Not reported for live migrations, which follow such changes'

/** What was found and is not to come as it was found. */
export const supersededFigures = {
  filesSuperseded: Count(
    'Files that were found, but not copied as they were found, and are not missing: changed or deleted at the source before they were copied, or failed and found again since. A live migration finds and counts changed files again. Includes filesVanished',
  ),
  bytesSuperseded: Count(
    'Bytes found that are not to be copied: those of superseded files, and what copied files had less than when they were found',
  ),
}

/** What went from the source while it was migrated. */
export const vanishedFigures = {
  filesVanished: Type.Optional(
    Count(
      `Files that were found, but deleted or renamed at the source before they were copied; they are not failures; ${whatFor}`,
    ),
  ),
  foldersVanished: Type.Optional(
    Count(
      `Folders that were found, but deleted or renamed at the source before they were listed; ${whatFor}`,
    ),
  ),
}

export interface Vanished {
  readonly filesVanished?: number
  readonly foldersVanished?: number
}

/** The same in words; undefined when nothing did. @param asText of a number */
export function vanishedText(
  { filesVanished: files = 0, foldersVanished: folders = 0 }: Vanished,
  asText: (count: number) => string = String,
): string | undefined {
  if (files + folders === 0) return undefined
  const what = [
    ...(files > 0 ? [plural(files, 'file', asText)] : []),
    ...(folders > 0 ? [plural(folders, 'folder', asText)] : []),
  ].join(' and ')
  const isOne = files + folders === 1
  return `${what} ${isOne ? 'was' : 'were'} gone from the source before ${isOne ? 'it was' : 'they were'} copied`
}
