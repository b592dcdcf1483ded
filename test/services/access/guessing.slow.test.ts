import { wsconnect } from '@nats-io/nats-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { burst } from '../../../broker/limits/allowances.ts'
import { call } from '../../../broker/rpc/client.ts'
import { connectWithToken } from '../../../broker/rpc/connection.ts'
import { maxLateMs, maxLateOfOne } from '../../../broker/limits/tarpit.ts'
import { formatToken, parseToken } from '../../../broker/identity/token.ts'
import { keys } from '../../../subjects/access/keys.ts'
import { inboxPrefix } from '../../../subjects/kit/names.ts'
import { createKey, everything } from '../../support/keys.ts'
import { recordingLog } from '../../support/log.ts'
import { startTestPlatform, type TestPlatform } from '../../support/platform.ts'
import { until } from '../../support/until.ts'

const logged = recordingLog()
let platform: TestPlatform
beforeAll(async () => {
  platform = await startTestPlatform({ log: logged.log })
})
afterAll(() => platform[Symbol.asyncDispose]())

const native = (token: string) => connectWithToken(platform.tcpUrl, token, { reconnect: false })
const websocket = (token: string) =>
  wsconnect({
    servers: platform.websocketUrl,
    token,
    reconnect: false,
    inboxPrefix: inboxPrefix(parseToken(token)!.keyId),
  })

/** Milliseconds until somebody was let in or refused. */
async function timed(attempt: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await attempt().catch(() => undefined)
  return performance.now() - began
}

test('who guesses on the broker itself is answered late or not at all; right tokens come in at once', async () => {
  const { id, token } = await createKey(platform, everything)
  const { location } = parseToken(token)!
  let guessed = 0
  const wrong = () => formatToken(location, id, `guess${guessed++}`)
  const count = burst + maxLateOfOne + 20
  const refusals: number[] = []
  const guesses = Array.from({ length: count }, async () => {
    refusals.push(await timed(() => native(wrong())))
  })
  await until('the first have been refused', () => refusals.length >= burst)

  // Nobody has seen these tokens before; they come from the address and are of the key that the guesses are of.
  expect(await timed(async () => (await native(token)).close())).toBeLessThan(maxLateMs / 2)
  expect(await timed(async () => (await websocket(token)).close())).toBeLessThan(maxLateMs / 2)
  const other = await createKey(platform, everything)
  const connection = await native(other.token)
  expect(await call(connection, keys.self, {})).toMatchObject({ id: other.id })
  await connection.close()
  const rest = (one: string) =>
    platform.rest('platform', 'GET', '/api/v1/apikey', { headers: { authorization: `Bearer ${one}` } })
  expect((await rest((await createKey(platform, everything)).token)).status).toBe(200)
  // The edge counts for itself, and a refusal there is not held back as well.
  let status = 0
  expect(await timed(async () => ({ status } = await rest(wrong())))).toBeLessThan(maxLateMs / 2)
  expect(status).toBe(401)

  // On the WebSocket port it is the same.
  expect(await timed(() => websocket(wrong()))).toBeGreaterThan(maxLateMs / 2)
  await Promise.all(guesses)
  const atOnce = refusals.filter((ms) => ms < maxLateMs / 2)
  expect(atOnce.length).toBeGreaterThanOrEqual(burst)
  expect(atOnce.length).toBeLessThan(burst + 5)
  // What is not answered is not worth a line each.
  const lines = logged.lines.filter(({ details }) => String(details['reason']).startsWith('wrong secret'))
  expect(lines.length).toBeLessThanOrEqual(burst + maxLateOfOne + 5)
})
