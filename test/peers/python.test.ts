import { afterAll, beforeAll, expect } from 'vitest'
import { usage } from '../../subjects/observability/usage.ts'
import { killServer } from '../support/broker.ts'
import { callExample, startExample, stopExample } from '../support/example.ts'
import { startTestPlatform, type TestPlatform } from '../support/platform.ts'
import { pythonTest } from '../support/python.ts'
import { until } from '../support/until.ts'

let platform: TestPlatform
beforeAll(async () => {
  platform = await startTestPlatform()
})
afterAll(() => platform[Symbol.asyncDispose]())

/** How long an extension may take to be there again after the broker is. */
const backWithinMs = 5_000

pythonTest('examples/words.py, with nats-py alone', async (program) => {
  const child = await startExample(platform, { file: 'words.py', prefix: 'words', program })
  const count = (body: object) => callExample(platform, 'words/count', body)
  expect(await count({ text: 'to be or not to be', owner: 'hamlet' })).toEqual({
    status: 200,
    body: { words: 6 },
  })
  expect(await count({ text: ' ' })).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } })
  expect(await count({})).toMatchObject({ status: 400 })
  expect(await platform.call(usage.totals, {})).toEqual([
    { prefix: 'words', dimension: 'words', owner: 'hamlet', quantity: 6, records: 1 },
  ])

  await killServer({ pid: () => platform.brokerPid() })
  const backMs = performance.now()
  await until('it answers again', async () => (await count({ text: 'a' })).status === 200)
  expect(performance.now() - backMs).toBeLessThan(backWithinMs)
  await stopExample(platform, child)
})
