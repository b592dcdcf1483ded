import { expect, test } from 'vitest'
import { localFolder } from '../../../services/migrations/local-folder.ts'
import { requireTrash } from '../../../services/migrations/plans/target-match.ts'
import type { FilesystemSpec } from '../../../subjects/filesystem-kinds.ts'
import { createFolder } from '../../support/migrations.ts'

test('a trash is for a target that is a folder of a host, and nothing else', async () => {
  using folder = createFolder('to')
  const targets: Record<string, FilesystemSpec> = {
    folder: { kind: 'local', options: { fsRoot: folder.to } },
    // Nothing is asked of it.
    lake: {
      kind: 'adls2-shared-key',
      options: { accountName: 'account', sharedKey: 'a2V5', containerName: 'data' },
    },
  }
  const store = { localFolder: (id: string, path: string) => localFolder(targets[id]!, path) }
  const ask = (target: string) => requireTrash(store, target, { trash: true })
  await ask('folder')
  await expect(ask('lake')).rejects.toMatchObject({
    code: 'NOT_ACCEPTED',
    details: [
      { field: 'trash', problem: 'needs a target that is a folder of a host; lake would have to copy' },
    ],
  })
})
