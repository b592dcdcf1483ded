import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectWithToken, type NatsConnection } from '../../../broker/rpc/connection.ts'
import { connectAs } from '../../../broker/rpc/platform-connection.ts'
import { KeyConnections } from '../../../broker/callout/key-connections.ts'
import { connectInside, createKey, everything } from '../../support/keys.ts'
import { sharedPlatform, type TestPlatform } from '../../support/platform.ts'
import { until } from '../../support/until.ts'

let platform: TestPlatform
let system: NatsConnection
let counted: KeyConnections
beforeAll(async () => {
  platform = await sharedPlatform()
  const { identity, connection } = await connectInside(platform)
  await connection.close()
  system = await connectAs('SYS', { url: platform.tcpUrl, identity, name: 'test' })
  counted = new KeyConnections(system, identity, 3, 5)
  await system.flush()
})
afterAll(async () => {
  counted.stop()
  await system.close()
})

test('a key has so many connections and no more, until one of them has closed', async () => {
  const [key, other] = await Promise.all([createKey(platform, everything), createKey(platform, everything)])
  const opened: NatsConnection[] = []
  const open = async (token: string) => {
    const connection = await connectWithToken(platform.tcpUrl, token)
    opened.push(connection)
    return connection
  }
  const admit = (keyId: string, { info }: NatsConnection) =>
    counted.admit({ id: keyId, owner: 'ada' }, { server: info!.server_id, id: info!.client_id })
  const [one, two, three, more] = await Promise.all(Array.from({ length: 4 }, () => open(key.token)))
  for (const connection of [one!, two!, three!]) expect(await admit(key.id, connection)).toBeUndefined()
  const refusal = 'more than 3 connections of one key'
  expect(await admit(key.id, more!)).toBe(refusal)
  expect(await admit(other.id, await open(other.token))).toBeUndefined()
  await two!.close()
  await until('its end was told', async () => (await admit(key.id, more!)) === undefined)
  expect(await admit(key.id, await open(key.token))).toBe(refusal)
  await Promise.all(opened.map((connection) => connection.close()))
})

test('the keys of an owner have so many connections together, whatever others have', async () => {
  const made = await Promise.all(Array.from({ length: 7 }, () => createKey(platform, everything)))
  const opened = await Promise.all(made.map(({ token }) => connectWithToken(platform.tcpUrl, token)))
  const admit = (index: number, owner: string) => {
    const { server_id: server, client_id: id } = opened[index]!.info!
    return counted.admit({ id: made[index]!.id, owner }, { server, id })
  }
  for (let index = 0; index < 5; index++) expect(await admit(index, 'eve')).toBeUndefined()
  expect(await admit(5, 'eve')).toBe('more than 5 connections of one owner')
  expect(await admit(5, 'bob')).toBeUndefined()
  await opened[0]!.close()
  await until('its end was told', async () => (await admit(6, 'eve')) === undefined)
  await Promise.all(opened.map((connection) => connection.close()))
})
