import type { Movers } from '../../subjects/migrations/agents.ts'
import type { ActionPolicy } from '../../subjects/migrations/model/terms.ts'
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { isErrno } from '../../services/drivers/local/errors.ts'
import type { Output } from '../../subjects/kit/contract.ts'
import { filesystems } from '../../subjects/filesystems/filesystems.ts'
import type { migrationEvents } from '../../subjects/migrations/events.ts'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { verifications } from '../../subjects/migrations/verifications.ts'
import { settings } from '../../subjects/access/settings.ts'
import { eventSubject, loopback, subjectToken } from '../../subjects/kit/names.ts'
import type { Azurite } from './azurite.ts'
import { walkTree } from './compare-trees.ts'
import type { TestPlatform } from './platform.ts'
import { until } from './until.ts'

type Progress = Output<(typeof migrations)['progress']>['progress']
type Failure = Output<(typeof migrations)['failures']>['failedPaths'][number]

/** A folder of the test's own, with the folders that are named; gone with the scope, whatever the modes in it are by then. */
export function createFolder<N extends string>(...names: N[]): Record<N | 'root', string> & Disposable {
  const root = mkdtempSync(join(tmpdir(), 'gantry-data-'))
  const paths = Object.fromEntries(names.map((name) => [name, join(root, name)]))
  for (const path of Object.values(paths)) mkdirSync(path)
  return {
    ...paths,
    root,
    [Symbol.dispose]: () => removeTree(root),
  } as Record<N | 'root', string> & Disposable
}

function removeTree(root: string): void {
  const remove = () => rmSync(root, { recursive: true, force: true })
  try {
    remove()
  } catch (error) {
    if (!isErrno(error, 'EACCES')) throw error
    chmodSync(root, 0o700)
    // Each folder gets the owner's rights before it is listed.
    for (const { path, stat } of walkTree(root))
      if (stat.isDirectory()) chmodSync(Buffer.concat([Buffer.from(`${root}/`), path]), 0o700)
    remove()
  }
}

/** Adds a folder of this host as a source or target of this name. */
export async function addLocal(
  platform: Pick<TestPlatform, 'call'>,
  fileSystemId: string,
  role: 'source' | 'target',
  fsRoot: string,
): Promise<void> {
  await platform.call(filesystems['create-local'], { fileSystemId, role, fsRoot })
}

/** Adds a container of Azurite as a source or target of this name. */
export async function addAzurite(
  platform: Pick<TestPlatform, 'call'>,
  fileSystemId: string,
  role: 'source' | 'target',
  azurite: Azurite,
  containerName: string,
): Promise<void> {
  await platform.call(settings.put, { storeHosts: [loopback] })
  await platform.call(filesystems['create-adls2-shared-key'], {
    fileSystemId,
    role,
    accountName: azurite.account,
    sharedKey: azurite.key,
    endpoint: azurite.endpoint,
    insecure: true,
    containerName,
  })
}

/** Resolves with the payload when the next event of this kind about the migration comes. */
export async function nextEvent(
  { operator }: Pick<TestPlatform, 'operator'>,
  event: keyof typeof migrationEvents,
  migrationId: string,
): Promise<{ payload: Promise<{ state: string; failedPathCount?: number }> }> {
  const subject = eventSubject('migrations', event, subjectToken(migrationId))
  const subscription = operator.subscribe(subject, { max: 1 })
  const first = (async () => {
    for await (const message of subscription)
      return message.json<{ state: string; failedPathCount?: number }>()
    throw new Error(`the connection ended before ${subject}`)
  })()
  // The subscription is known to the broker before the caller goes on.
  await operator.flush()
  return { payload: first }
}

/** Makes and starts a migration of everything, and waits until it is completed. */
export async function migrate(
  platform: TestPlatform,
  options: {
    source: string
    target: string
    migrationId?: string
    path?: string
    actionPolicy?: ActionPolicy
    movedBy?: Movers
  },
): Promise<{ progress: Progress; failures: Failure[] }> {
  const { migrationId = 'everything', path = '/', ...rest } = options
  const completed = await nextEvent(platform, 'completed', migrationId)
  await platform.call(migrations.create, { migrationId, path, autoStart: true, ...rest })
  await completed.payload
  return outcomeOf(platform, migrationId)
}

/** What came of a completed migration, and that all its figures add up. @param vanished what went while it was copied */
export async function outcomeOf(
  platform: Pick<TestPlatform, 'call'>,
  migrationId: string,
  vanished = 0,
): Promise<{ progress: Progress; failures: Failure[] }> {
  const { progress } = await platform.call(migrations.progress, { migrationId })
  const { failedPaths } = await platform.call(migrations.failures, { migrationId, limit: 10_000 })
  const { scannerSummary, failedPathCount } = await platform.call(migrations.get, { migrationId })
  const { filesScanned, directoriesScanned } = scannerSummary.progressSummary
  const { fileCount, directoryCount } = scannerSummary.contentSummary
  const settled = fileCount + directoryCount + progress.filesSkipped + failedPathCount + vanished
  const sums = { settled, failed: failedPathCount, progress: [progress.filesScanned, progress.filesMigrated] }
  const expected = {
    settled: filesScanned + directoriesScanned,
    failed: failedPaths.length,
    progress: [filesScanned, fileCount],
  }
  if (!isDeepStrictEqual(sums, expected)) {
    throw new Error(
      `the figures do not add up: ${JSON.stringify({ sums, expected, progress, scannerSummary })}`,
    )
  }
  return { progress, failures: failedPaths }
}

/** Verifies a migration, and waits until that is done. */
export async function verify(
  platform: Pick<TestPlatform, 'call'>,
  migrationId: string,
  level: 'digest' | 'metadata',
): Promise<Output<(typeof verifications)['get']>> {
  const { id: verificationId } = await platform.call(verifications.create, { migrationId, level })
  const look = () => platform.call(verifications.get, { verificationId })
  await until('it is verified', async () => (await look()).status === 'COMPLETE')
  return look()
}
