import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { migrations } from '../../../subjects/migrations/migrations.ts'
import { addLocal, createFolder } from '../../support/migrations.ts'
import type { TestPlatform } from '../../support/platform.ts'

/** The source and the target of a migration, which are called after it. */
export async function createSource(
  on: TestPlatform,
  migrationId: string,
  names: readonly string[],
  content = 'x'.repeat(1024),
) {
  const folder = createFolder('from', 'to')
  for (const name of names) writeFileSync(join(folder.from, name), content)
  await addLocal(on, `${migrationId} from`, 'source', folder.from)
  await addLocal(on, `${migrationId} to`, 'target', folder.to)
  return folder
}

/** A migration from the one to the other. */
export const create = (on: TestPlatform, migrationId: string, autoStart: boolean, kind: object = {}) =>
  on.call(migrations.create, {
    migrationId,
    path: '/',
    source: `${migrationId} from`,
    target: `${migrationId} to`,
    autoStart,
    ...kind,
  })
