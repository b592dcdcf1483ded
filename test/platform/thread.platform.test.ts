import { expect, test } from 'vitest'
import { platform as contracts } from '../../subjects/platform/platform.ts'
import { sharedPlatform } from '../support/platform.ts'

test('one contract answers the same over NATS and REST', async () => {
  const platform = await sharedPlatform()
  const overNats = await platform.call(contracts.info, {})
  const overRest = await platform.rest('platform', 'GET', '/api/v1/gantryinfo', { headers: {} })
  expect(overRest.status).toBe(200)
  expect(overRest.body).toEqual(overNats)
  expect(overNats.instance).toBe(platform.instance)
})
