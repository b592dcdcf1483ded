import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect } from 'vitest'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { killServer } from './broker.ts'
import { callExample, stopExample } from './example.ts'
import { capabilitiesOf } from './example-extension.ts'
import { createClient, createKey } from './keys.ts'
import { addLocal } from './migrations.ts'
import type { TestPlatform } from './platform.ts'
import { until } from './until.ts'

const created = (migrationId: string) => `gantry.events.v1.migrations.created.${migrationId}`

/** The broker is killed and started again in it. */
export const followerTimeoutMs = 180_000

/**
 * What every client package can do, by its example `follower`: it answers over REST and to other clients, calls a capability,
 * is refused what its key may not, and follows events and its storage, also after the broker was killed.
 */
export async function checkFollower(
  platform: TestPlatform,
  { program, args, env = {} }: { program: string; args: string[]; env?: Record<string, string> },
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-followed-'))
  const [source, target] = [join(folder, 'source'), join(folder, 'target')]
  for (const path of [join(source, 'first'), join(source, 'second'), target])
    mkdirSync(path, { recursive: true })
  await addLocal(platform, 'followed', 'source', source)
  await addLocal(platform, 'following', 'target', target)
  const create = (migrationId: string) =>
    platform.call(migrations.create, {
      migrationId,
      path: `/${migrationId}`,
      source: 'followed',
      target: 'following',
    })

  const may = capabilitiesOf('follower', [migrations.get.subject])
  const { token } = await createKey(platform, {
    ...may,
    sub: { allow: [...may.sub.allow, 'gantry.events.v1.migrations.>'] },
  })
  const child = spawn(program, args, {
    env: { ...process.env, ...env, GANTRY_TOKEN: token },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    for await (const line of createInterface(child.stdout)) if (line === 'follower is registered') break
    await checkRunning(platform, create)
    await stopExample(platform, child)
  } finally {
    child.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
}

async function checkRunning(
  platform: TestPlatform,
  create: (migrationId: string) => Promise<unknown>,
): Promise<void> {
  const ask = (endpoint: string, body: object) => callExample(platform, `follower/${endpoint}`, body)
  const heard = async () => (await ask('heard', {})).body as { events: string[]; notes: unknown[] }

  await create('first')
  expect(await ask('migration', { migrationId: 'first' })).toEqual({
    status: 200,
    body: { state: 'NONSCHEDULED' },
  })
  expect(await ask('migration', { migrationId: 'no-such' })).toMatchObject({
    status: 404,
    body: { code: 'NOT_FOUND' },
  })
  expect(await ask('migration', { migrationId: 7 })).toMatchObject({ status: 400 })
  expect(await ask('start', { migrationId: 'first' })).toMatchObject({
    status: 403,
    body: { code: 'DENIED', message: expect.stringContaining('gantry.services.v1.migrations.start') },
  })
  await using other = await createClient(platform, {
    pub: { allow: ['gantry.extensions.follower.>'] },
    sub: { allow: [] },
  })
  const reply = await other.connection.request(
    'gantry.extensions.follower.migration',
    JSON.stringify({ migrationId: 'first' }),
  )
  expect(reply.json()).toEqual({ state: 'NONSCHEDULED' })

  expect(await ask('note', { text: 'before' })).toMatchObject({ status: 200 })
  await until('it has heard', async () => {
    const { events, notes } = await heard()
    return events.includes(created('first')) && notes.includes('before')
  })
  await killServer({ pid: () => platform.brokerPid() })
  await until('it answers again', async () => (await ask('heard', {})).status === 200)
  const get = () => platform.call(migrations.get, { migrationId: 'first' })
  await until('we are connected again', () => get().then(Boolean, () => false))
  await create('second')
  await until('its storage answers again', async () => (await ask('note', { text: 'after' })).status === 200)
  await until('it has heard what came later', async () => {
    const { events, notes } = await heard()
    return events.includes(created('second')) && notes.includes('after')
  })
}
