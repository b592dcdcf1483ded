import { readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { filesystems } from '../../subjects/filesystems/filesystems.ts'
import { keys } from '../../subjects/access/keys.ts'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { platform } from '../../subjects/platform/platform.ts'
import { roles } from '../../subjects/access/roles.ts'
import { exclusions } from '../../subjects/rules/exclusions.ts'
import { blocksOf, damageAtRandom } from '../support/damage.ts'
import { addLocal, createFolder } from '../support/migrations.ts'
import { createHome } from '../support/platform.ts'
import { oneOf, randomBelow, seededRandom } from '../support/random.ts'
import { until } from '../support/until.ts'
import { damagesOf, seed } from './settings.ts'
import { Victim } from './victim.ts'

const damages = damagesOf('records')

/** Blocks that are damaged between two runs, at most. */
const mostAtOnce = 3

/** Streams that hold what a person asked for: half of the damage is there. */
const records = ['KV_migrations', 'KV_keys', 'KV_roles', 'KV_filesystems', 'KV_lease']

/** The blocks with messages in them, but those of work queues, whose completion has proofs of its own. */
function blocksIn(storeDir: string, isWanted: (stream: string) => boolean): string[] {
  const streams = new Set(
    readdirSync(storeDir, { recursive: true, encoding: 'utf8' }).flatMap((name) => {
      const stream = /\/streams\/([^/]+)\/msgs\/\d+\.blk$/.exec(name)?.[1]
      return stream === undefined || stream.startsWith('WORK_') || !isWanted(stream) ? [] : [stream]
    }),
  )
  return [...streams]
    .toSorted()
    .flatMap((stream) => blocksOf(storeDir, stream))
    .filter((path) => statSync(path).size > 0)
}

test(`${damages} damaged stores: records stay what was acknowledged, CRASH_SEED=${seed}`, async () => {
  const random = seededRandom(seed)
  using folder = createFolder('from', 'to', 'deleted')
  writeFileSync(join(folder.from, 'file'), 'content')
  const home = await createHome()
  const storeDir = join(home, 'jetstream')
  await using victim = new Victim(home)
  await victim.start()
  await addLocal(victim, 'source', 'source', folder.from)
  await addLocal(victim, 'target', 'target', folder.to)
  await addLocal(victim, 'forgotten', 'target', folder.deleted)
  const create = (migrationId: string, target: string, scanOnlyMigration: boolean) =>
    victim.call(migrations.create, { migrationId, path: '/', source: 'source', target, scanOnlyMigration })
  const stateOf = async (migrationId: string) => (await victim.call(migrations.get, { migrationId })).state
  const reaches = (migrationId: string, state: string) =>
    until(`${migrationId} is ${state}`, async () => (await stateOf(migrationId)) === state)
  // Deleted: live ones that ran, whose older records say so.
  await create('deleted', 'forgotten', false)
  await victim.call(migrations.start, { migrationId: 'deleted' })
  await reaches('deleted', 'LIVE')
  await victim.call(migrations.stop, { migrationId: 'deleted' })
  await reaches('deleted', 'STOPPED')
  await victim.call(migrations.delete, { migrationId: 'deleted' })
  await victim.call(filesystems.delete, { fileSystemId: 'forgotten' })
  rmSync(join(folder.deleted, 'file'))
  const role = { description: '', pub: { allow: [] }, sub: { allow: [] }, visible_extensions: [] }
  await victim.call(roles.put, { name: 'kept', ...role })
  await victim.call(roles.put, { name: 'deleted', ...role })
  await victim.call(roles.delete, { name: 'deleted' })
  const { id } = await victim.call(keys.create, {
    name: 'revoked',
    capabilities: { pub: { allow: [] }, sub: { allow: [] } },
  })
  await victim.call(keys.revoke, { id })
  await create('live', 'target', false)
  await victim.call(migrations.start, { migrationId: 'live' })
  await reaches('live', 'LIVE')

  const look = async () => ({
    migrations: (await victim.call(migrations.list, {})).map(({ migrationId, state }) => [
      migrationId,
      state,
    ]),
    filesystems: (await victim.call(filesystems.list, {})).map(({ fileSystemId }) => fileSystemId),
    roles: (await victim.call(roles.list, {})).map(({ name }) => name),
    revoked: (await victim.call(keys.list, {})).find((key) => key.id === id)?.revoked,
    exclusions: (await victim.call(exclusions.list, {})).length,
  })
  const expected = await look()
  expect(expected.revoked).toBeDefined()
  for (let done = 0; done < damages;) {
    if (randomBelow(random, 2) === 0) process.kill(victim.brokerPid()!, 'SIGKILL')
    await victim.kill()
    const what: string[] = []
    for (let count = 1 + randomBelow(random, mostAtOnce); count > 0; count--, done++) {
      const isAnywhere = randomBelow(random, 2) === 0
      const block = oneOf(
        random,
        blocksIn(storeDir, (stream) => isAnywhere || records.includes(stream)),
      )
      what.push(damageAtRandom(block, random))
    }
    await victim.start()
    await until(
      'it is what it was',
      async () => JSON.stringify(await look()) === JSON.stringify(expected),
    ).catch(async (error: unknown) => {
      expect(await look(), `${String(error)} after ${what.join(', ')}`).toEqual(expected)
    })
    expect(readdirSync(folder.deleted)).toEqual([])
    // A change at the source still arrives.
    writeFileSync(join(folder.from, `file-${done}`), 'content')
    await until(`it arrives after ${what.join(', ')}`, () => readdirSync(folder.to).includes(`file-${done}`))
    const losses = await victim.call(platform['accept-losses'], {})
    console.log(
      what.map((one) => one.replace(/^(.+ of ).*\/streams\//, '$1')).join(', '),
      '→',
      losses.map(({ store, id, kind }) => `${store}/${id ?? ''} ${kind}`).join(', '),
    )
  }
})
