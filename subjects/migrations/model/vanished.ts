import { Type } from 'typebox'
import { plural } from '../../kit/plural.ts'
import { Count } from '../../kit/schemas.ts'

const whatFor =
  'since the scan of all began, as the other figures; nothing is missing of what stayed, and what was renamed in the source arrives with the next scan. Not told of live migrations, which follow such changes'

/** What went from the source while it was migrated. */
export const vanishedFigures = {
  filesVanished: Type.Optional(
    Count(
      `Files found, and deleted or renamed at the source before they were copied: they are no failures; ${whatFor}`,
    ),
  ),
  foldersVanished: Type.Optional(
    Count(`Folders found, and deleted or renamed at the source before they were listed; ${whatFor}`),
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
