import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { agentKeys, agents, type Movers } from '../../subjects/migrations/agents.ts'
import { bandwidth } from '../../subjects/migrations/bandwidth.ts'
import { keys } from '../../subjects/access/keys.ts'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { AgentChild, startAgent, statusOf } from '../support/agent-child.ts'
import { compareTrees } from '../support/compare-trees.ts'
import { addLocal, createFolder, nextEvent, outcomeOf } from '../support/migrations.ts'
import { startTestPlatform, type TestPlatform } from '../support/platform.ts'
import { until } from '../support/until.ts'

let platform: TestPlatform
const folder = createFolder('from', 'to')
const share = ['--share', folder.root]
let count = 0

beforeAll(async () => {
  platform = await startTestPlatform()
  await addLocal(platform, 'here', 'source', folder.from)
  await addLocal(platform, 'there', 'target', folder.to)
})
afterAll(async () => {
  await platform[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
})

/** Starts a migration of a tree of its own: folders of 100 files each, and one large file. */
async function start(folders: number, movedBy: Movers, largeBytes = 20_000_000) {
  const migrationId = `tree-${count++}`
  const [from, to] = [join(folder.from, migrationId), join(folder.to, migrationId)]
  for (let index = 0; index < folders; index++) {
    mkdirSync(join(from, `${index}`), { recursive: true })
    for (let file = 0; file < 100; file++)
      writeFileSync(join(from, `${index}`, `${file}`), `${index} ${file}`)
  }
  writeFileSync(join(from, 'large'), Buffer.alloc(largeBytes, 7))
  mkdirSync(to)
  const completed = await nextEvent(platform, 'completed', migrationId)
  await platform.call(migrations.create, {
    migrationId,
    path: `/${migrationId}`,
    source: 'here',
    target: 'there',
    movedBy,
    autoStart: true,
  })
  return {
    migrationId,
    completed: completed.payload,
    /** That everything arrived, and was counted once. */
    check: async () => {
      const { progress, failures } = await outcomeOf(platform, migrationId)
      expect(failures).toEqual([])
      expect(progress).toMatchObject({ filesMigrated: folders * 100 + 1, foldersScanned: folders + 1 })
      expect(compareTrees(from, to)).toEqual([])
    },
  }
}

const moved = async (name: string) => (await platform.call(agents.get, { name })).transferredFiles

test('two agents and the server move a tree together, each file once, and share a limit', async () => {
  await using one = await startAgent(platform, 'one', share)
  await using two = await startAgent(platform, 'two', [...share, '--threads', '1'])
  await platform.call(bandwidth.set, { scope: 'global', requests: 1_500 })
  const begun = performance.now()
  const { completed, check, migrationId } = await start(40, 'ALL')
  await until('both work on it', async () => {
    const all = await platform.call(agents.list, {})
    return all.every((agent) => agent.migrations.includes(migrationId))
  })
  await completed
  await check()
  // 4,000 files at 1,500 a second; a fifth of a second is free for each of three.
  expect(performance.now() - begun).toBeGreaterThan(2_000)
  const [byOne, byTwo] = [await moved('one'), await moved('two')]
  expect(Math.min(byOne, byTwo)).toBeGreaterThan(0)
  expect(byOne + byTwo).toBeLessThan(4_001)
  await platform.call(bandwidth.delete, { scope: 'global' })
  // What is over is let go of.
  await until('they have nothing to do', async () => {
    const all = await platform.call(agents.list, {})
    return all.every((agent) => agent.migrations.length === 0)
  })
  for (const child of [one, two]) {
    child.kill('SIGTERM')
    expect(await child.exitCode()).toBe(0)
    expect(child.printed).toContain('Ended.')
  }
  expect([await statusOf(platform, 'one'), await statusOf(platform, 'two')]).toEqual([
    'DISCONNECTED',
    'DISCONNECTED',
  ])
  const listed = await platform.rest('migrator', 'GET', '/scaling/dataagents/')
  expect(listed.body).toMatchObject([{ name: 'one', healthy: false }, { name: 'two' }])
})

test('a migration that agents alone move waits for one that shares its folders, and stops and goes on with it', async () => {
  await using _without = await startAgent(platform, 'without')
  const { completed, check, migrationId } = await start(20, 'AGENTS')
  expect(await platform.call(migrations.get, { migrationId })).toMatchObject({
    state: 'RUNNING',
    movedBy: 'AGENTS',
  })
  const idle = await platform.call(agents.get, { name: 'without' })
  expect(idle).toMatchObject({ healthy: true, shares: [], migrations: [] })
  await platform.call(bandwidth.set, { scope: 'migration', name: migrationId, requests: 200 })
  await using sharing = await startAgent(platform, 'sharing', share)
  await until('what it has in hand is seen before it is counted', async () => {
    const { progress } = await platform.call(migrations.progress, { migrationId })
    return progress.filesMigrated > (await moved('sharing'))
  })
  await until('it has begun', async () => (await moved('sharing')) > 0)
  const stopped = await nextEvent(platform, 'stopped', migrationId)
  await platform.call(migrations.stop, { migrationId })
  await stopped.payload
  // The agent has let go of it by then.
  const { progress } = await platform.call(migrations.progress, { migrationId })
  expect((await platform.call(agents.get, { name: 'sharing' })).migrations).toEqual([])
  expect((await platform.call(migrations.progress, { migrationId })).progress.filesMigrated).toBe(
    progress.filesMigrated,
  )
  await platform.call(bandwidth.delete, { scope: 'migration', name: migrationId })
  await platform.call(migrations.resume, { migrationId })
  await completed
  await check()
  expect(await moved('without')).toBe(0)
  expect(sharing.printed).not.toContain('"level":40')
})

test('an agent with its own limit says so, keeps it, and hands its work back at once when it is removed', async () => {
  await using slow = await startAgent(platform, 'slow', [...share, '--bandwidth', '200KB'])
  const { completed, check, migrationId } = await start(1, 'AGENTS', 600_000)
  await until('it works on it', async () => {
    const { migrations: its, limitBytesPerSecond } = await platform.call(agents.get, { name: 'slow' })
    return its.includes(migrationId) && limitBytesPerSecond === 200_000
  })
  await platform.call(agents.remove, { name: 'slow' })
  await using _fast = await startAgent(platform, 'fast', share)
  expect(await slow.exitCode()).toBe(1)
  expect(slow.printed).toContain(
    'the platform has disconnected this agent: the agent was removed by an administrator',
  )
  await completed
  await check()
  // It had finished what it had in hand.
  expect(slow.printed).not.toContain('comes again')
  await expect(platform.call(agents.get, { name: 'slow' })).rejects.toMatchObject({ code: 'NOT_FOUND' })
})

test('the limit of an agent is said at the platform, changes at once, and goes with the agent', async () => {
  await using _child = await startAgent(platform, 'limited', share)
  const place = { scope: 'agent', name: 'limited' } as const
  await platform.call(bandwidth.set, { ...place, requests: 1 })
  const { completed, check, migrationId } = await start(1, 'AGENTS', 100)
  await until('it works on it', async () => {
    const { migrations: its } = await platform.call(agents.get, { name: 'limited' })
    return its.includes(migrationId)
  })
  const path = '/api/v1/bandwidth/agents/limited'
  const begun = performance.now()
  const faster = await platform.rest('platform', 'PUT', path, { body: { requests: 200 } })
  expect(faster.body).toMatchObject({ id: 'agent/limited', now: { limitRequestsPerSecond: 200 } })
  await completed
  // 101 files, of which a fifth of a second is free.
  expect(performance.now() - begun).toBeGreaterThan(250)
  await check()
  await platform.call(agents.remove, { name: 'limited' })
  expect(await platform.call(bandwidth.get, place)).toMatchObject({ limitRequestsPerSecond: -1 })
  await expect(platform.call(bandwidth.set, { ...place, limit: 1, unit: 'B' })).rejects.toThrow(
    'there is no transfer agent limited: no agent with this name has connected; start it with "gantry agent"',
  )
})

test('a process takes the name of one with the same key, and none that another key has', async () => {
  await using first = await startAgent(platform, 'name')
  await using second = new AgentChild(first.token)
  expect(await first.exitCode()).toBe(1)
  expect(first.printed).toContain('another process uses the name')
  const { token } = await platform.call(agentKeys.register, { name: 'other' })
  await using other = new AgentChild(token, ['--name', 'name'])
  expect(await other.exitCode()).toBe(1)
  expect(other.printed).toContain('an agent with another key has the name name')
  expect(second.printed).not.toContain('error')
})

test('an agent whose key is revoked loses its connection, and says why it ends', async () => {
  await using child = await startAgent(platform, 'revoked')
  await platform.call(keys.revoke, { id: child.keyId })
  expect(await child.exitCode()).toBe(4)
  expect(child.printed).toContain('rejects the token of this agent: its key was revoked')
})

test('a token that is none, one that is wrong, and one of a person are refused with what to do', async () => {
  await using none = new AgentChild('none')
  expect(await none.exitCode()).toBe(4)
  expect(none.printed).toContain('does not contain a valid API token for this platform')
  const { token } = await platform.call(agentKeys.register, { name: 'wrong' })
  await using wrong = new AgentChild(`${token.slice(0, -4)}AAAA`)
  expect(await wrong.exitCode()).toBe(4)
  expect(wrong.printed).toContain('rejects the token of this agent')
  const person = await platform.call(keys.create, {
    name: 'person',
    capabilities: { pub: { allow: ['gantry.services.v1.migrations.list'] }, sub: { allow: [] } },
  })
  await using notAnAgent = new AgentChild(person.token)
  expect(await notAnAgent.exitCode()).toBe(4)
  expect(notAnAgent.printed).toContain('gantry agents register')
  // A share must not expose Gantry's own folders on the agent's host.
  using own = createFolder('home', 'cache')
  const environment = { GANTRY_HOME: own.home, GANTRY_CACHE: own.cache }
  for (const [path, problem] of [
    [own.home, `--share ${own.home} is the configuration folder of Gantry`],
    [own.cache, 'is the cache folder of Gantry'],
    [own.root, 'contains the configuration folder of Gantry'],
    ['/', 'contains the configuration folder of Gantry'],
  ] as const) {
    await using refused = new AgentChild(token, ['--share', path], environment)
    expect(await refused.exitCode(), path).not.toBe(0)
    expect(refused.printed).toContain(problem)
  }
  await using noFolder = new AgentChild(token, ['--share', join(folder.root, 'nowhere')])
  expect(await noFolder.exitCode()).toBe(1)
  expect(noFolder.printed).toContain('nowhere cannot be used (ENOENT)')
})

test('a live migration is not left to agents', async () => {
  const live = { path: '/', source: 'here', target: 'there', scanOnlyMigration: false } as const
  await expect(platform.call(migrations.create, { ...live, movedBy: 'AGENTS' })).rejects.toThrow(
    'only the platform follows changes',
  )
})

test('a migration that waits for agents is moved by the platform as soon as that is said', async () => {
  const { completed, check, migrationId } = await start(1, 'AGENTS', 100)
  expect(await platform.call(migrations.get, { migrationId })).toMatchObject({ state: 'RUNNING' })
  const patched = await platform.rest('migrator', 'PATCH', `/migrations/${migrationId}`, {
    body: { movedBy: 'SERVER' },
  })
  expect(patched.body).toMatchObject({ state: 'RUNNING', movedBy: 'SERVER' })
  await completed
  await check()
})

test('who moves files by default is a setting', async () => {
  expect(await platform.call(agents['get-settings'], {})).toEqual({ movedBy: 'ALL' })
  await platform.call(agents['put-settings'], { movedBy: 'SERVER' })
  expect(await platform.call(agents['get-settings'], {})).toEqual({ movedBy: 'SERVER' })
})
