import { trashFolder } from '../../../subjects/migrations/model/plan-terms.ts'
import type { StoreKind } from '../contract/kind.ts'
import { closeHeld, createHeld, useNativeCalls, usualNativeCallsAfter } from './folder-entries.ts'
import { LocalDriver } from './local.ts'
import { restoreModes } from './rights.ts'

export {
  isSameFolder,
  requireShareable,
  resolvedFolder,
  seenFolder,
  shareOf,
  type Witness,
} from './shared-folders.ts'

export const local: StoreKind<'local'> = {
  kind: 'local',
  defaults: { fsRoot: '/' },
  exclusions: [
    {
      id: 'default-local-snapshots',
      description: 'Snapshots that network storage shows as folders: the same files again, many times',
      type: 'regex',
      patternType: 'GLOB',
      regex: '{.snapshot,~snapshot}',
    },
    {
      id: 'default-local-trash',
      description: 'Trash of other migrations; not copied',
      type: 'paths',
      paths: [`/${trashFolder}`],
    },
  ],
  restrictions: [
    { id: 'restriction-local-names', description: 'Names of more than 255 bytes, paths of more than 4,096' },
    {
      id: 'restriction-local-case',
      description:
        'Of names that differ only by case or Unicode form, all but one where the file system takes them for the same (vfat, exFAT, NTFS, SMB, FUSE)',
    },
    { id: 'restriction-local-types', description: 'Pipes, sockets and devices' },
  ],
  open: async (options, side, bounds) => {
    const driver = new LocalDriver(options, side === 'target', undefined, bounds)
    driver.requirePlace()
    return driver
  },
  uris: ({ fsRoot = '/' }) => {
    const root = fsRoot.replace(/\/$/, '')
    return [`file://${root}`, `file:${root}`]
  },
  inThreads: {
    memory: createHeld,
    start: (memory, { nativeCallsAfter = usualNativeCallsAfter }) => useNativeCalls(memory, nativeCallsAfter),
    endJob: restoreModes,
    end: closeHeld,
  },
}
