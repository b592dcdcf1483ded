import type { FilesystemKind } from '../filesystems/kinds.ts'
import { trashFolder } from '../migrations/model/plan-terms.ts'
import type { Rule } from '../migrations/model/rules.ts'

/** Exclusions of every new migration from a source of a kind; each migration can do without them. */
export const defaultExclusions: Readonly<Record<FilesystemKind, readonly Rule[]>> = {
  local: [
    {
      id: 'default-local-snapshots',
      description: 'Snapshots that network storage shows as folders: the same files again, many times',
      type: 'regex',
      patternType: 'GLOB',
      regex: '{.snapshot,~snapshot}',
    },
    {
      id: 'default-local-trash',
      description: 'What other migrations deleted here: it would come to lie in the trash of the target',
      type: 'paths',
      paths: [`/${trashFolder}`],
    },
  ],
  'adls2-shared-key': [],
}

/** What a store of a kind cannot hold, in words. Such paths become failures: nothing is left out without a word. */
export const restrictions: Readonly<
  Record<FilesystemKind, readonly { readonly id: string; readonly description: string }[]>
> = {
  local: [
    { id: 'restriction-local-names', description: 'Names of more than 255 bytes, paths of more than 4,096' },
    { id: 'restriction-local-types', description: 'Pipes, sockets and devices' },
  ],
  'adls2-shared-key': [
    {
      id: 'restriction-adls2-names',
      description:
        'Names that are not UTF-8, have a backslash, a control character or a dot at the end of a segment; paths of more than 1,024 characters or 254 segments',
    },
    { id: 'restriction-adls2-sizes', description: 'Files of more than 190.7 TiB' },
    { id: 'restriction-adls2-types', description: 'Symbolic links, pipes, sockets and devices' },
  ],
}
