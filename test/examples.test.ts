import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { root } from './cli/support.ts'
import { createKey } from './support/keys.ts'
import { startTestPlatform, type TestPlatform } from './support/platform.ts'
import { until } from './support/until.ts'
import { capabilitiesOf } from './support/weather.ts'

let platform: TestPlatform
beforeAll(async () => {
  platform = await startTestPlatform()
})
afterAll(() => platform[Symbol.asyncDispose]())

/** Starts an example as its first lines say, and waits until it says that it is registered. */
async function start(file: string, prefix: string): Promise<ChildProcess> {
  const { token } = await createKey(
    platform,
    capabilitiesOf(prefix, ['gantry.services.v1.observability.report']),
  )
  const child = spawn(process.execPath, [join(root, 'examples', file)], {
    env: { ...process.env, GANTRY_TOKEN: token },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  for await (const line of createInterface(child.stdout)) if (line === `${prefix} is registered`) return child
  throw new Error(`${file} has ended`)
}

/** A clean stop ends the process, and takes the extension away. */
async function stop(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  expect(await ended).toEqual([0, null])
  const { body } = await platform.rest('platform', 'GET', '/api/v1/extensions/all')
  expect(body).toEqual([])
}

const post = async (path: string, body: unknown) => {
  const answer = await platform.rest('platform', 'POST', `/api/v1/extensions/${path}`, { body })
  return { status: answer.status, body: answer.body }
}

test('examples/weather.ts, with the SDK', async () => {
  const child = await start('weather.ts', 'weather')
  expect(await post('weather/forecast', { city: 'Oslo' })).toEqual({
    status: 200,
    body: { sunny: true, asked: 1 },
  })
  const many = await Promise.all(Array.from({ length: 5 }, () => post('weather/forecast', { city: 'Oslo' })))
  const asked = many.map(({ body }) => (body as { asked: number }).asked)
  expect(asked.toSorted((a, b) => a - b)).toEqual([2, 3, 4, 5, 6])
  expect(await post('weather/forecast', { city: 'Atlantis' })).toMatchObject({ status: 404 })
  await stop(child)
})

test('examples/greeter.mjs, with nats 2 alone', async () => {
  const child = await start('greeter.mjs', 'greeter')
  expect(await post('greeter/hello', { name: 'Ada' })).toEqual({ status: 200, body: { text: 'Hello Ada' } })
  expect(await post('greeter/hello', { name: 'nobody' })).toMatchObject({
    status: 404,
    body: { code: 'NOT_FOUND' },
  })
  expect(await post('greeter/hello', {})).toMatchObject({ status: 400 })
  await stop(child)
})

test('an example that is killed is gone at once', async () => {
  const child = await start('greeter.mjs', 'greeter')
  const killedMs = performance.now()
  child.kill('SIGKILL')
  await until('it is gone', async () => {
    const { body } = await platform.rest('platform', 'GET', '/api/v1/extensions/all')
    return (body as unknown[]).length === 0
  })
  expect(performance.now() - killedMs).toBeLessThan(2_000)
})
