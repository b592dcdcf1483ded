import { expect, test } from 'vitest'
import { call } from '../../../broker/client.ts'
import { connectWithToken } from '../../../broker/connection.ts'
import { formatToken, parseToken } from '../../../broker/token.ts'
import { keys } from '../../../subjects/keys.ts'
import { createKey, everything } from '../../support/keys.ts'
import { recordingLog } from '../../support/log.ts'
import { startTestPlatform } from '../../support/platform.ts'

test('who guesses on the broker itself is soon not looked at any more; those who were right come in', async () => {
  const logged = recordingLog()
  await using platform = await startTestPlatform({ log: logged.log })
  const { token } = await createKey(platform, everything)
  const connect = (one: string) => connectWithToken(platform.tcpUrl, one, { reconnect: false })
  await (await connect(token)).close()
  const { location, keyId } = parseToken(token)!
  for (let guess = 0; guess < 40; guess++) {
    await expect(connect(formatToken(location, keyId, `guess${guess}`))).rejects.toThrow(/authorization/i)
  }
  const reasons = logged.lines.map(({ details }) => details['reason'])
  expect(reasons.filter((reason) => String(reason).startsWith('wrong secret')).length).toBeLessThan(25)
  expect(reasons).toContain('too many refusals from there')
  const again = await connect(token)
  expect(await call(again, keys.self, {})).toMatchObject({ id: keyId })
  await again.close()
  // The edge counts for itself: over REST nobody is held up by it.
  const fresh = await createKey(platform, everything)
  const headers = { authorization: `Bearer ${fresh.token}` }
  expect((await platform.rest('platform', 'GET', '/api/v1/apikey', { headers })).status).toBe(200)
})
