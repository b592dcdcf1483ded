import { expect, test } from 'vitest'
import { connectWithToken } from '../../../broker/rpc/connection.ts'
import { keys } from '../../../subjects/access/keys.ts'
import { sharedPlatform } from '../../support/platform.ts'

test('a subscribe rule that ends in * lets nothing deeper through', async () => {
  const platform = await sharedPlatform()
  const { token } = await platform.call(keys.create, {
    name: 'narrow',
    capabilities: { pub: { allow: [] }, sub: { allow: ['gantry.extensions.demo.*'] } },
  })
  const narrow = await connectWithToken(platform.tcpUrl, token)
  const heard: string[] = []
  narrow.subscribe('gantry.extensions.demo.>', {
    callback: (_, message) => void heard.push(message?.subject),
  })
  await narrow.flush()
  platform.operator.publish('gantry.extensions.demo.a.b')
  platform.operator.publish('gantry.extensions.demo.a')
  await platform.operator.flush()
  await narrow.flush()
  expect(heard.filter((subject) => subject !== undefined)).toEqual(['gantry.extensions.demo.a'])
  await narrow.close()
})
