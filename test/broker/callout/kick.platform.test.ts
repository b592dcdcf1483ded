import { errors } from '@nats-io/transport-node'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Principal, startAuthCallout } from '../../../broker/callout/auth-callout.ts'
import { connectWithToken, type NatsConnection } from '../../../broker/rpc/connection.ts'
import { KeyDropper } from '../../../broker/callout/kick.ts'
import { Openings } from '../../../broker/callout/openings.ts'
import { createKeyId, createSecret, formatToken } from '../../../broker/identity/token.ts'
import { startTestBroker, type TestBroker } from '../../support/broker.ts'
import { testLog } from '../../support/platform.ts'

const keyId = createKeyId()
const token = formatToken({ instance: 'i', nats: '', http: '' }, keyId, createSecret('salt', keyId))
const principal: Principal = {
  keyId,
  owner: 'ada',
  account: 'GANTRY',
  capabilities: { pub: { allow: ['gantry.>'] }, sub: { allow: [] } },
}

let broker: TestBroker
let dropper: KeyDropper
let stop: () => Promise<void>
/** Called when a connection is being judged; it is let in once this has resolved. */
let judging: () => Promise<void> = () => Promise.resolve()
beforeAll(async () => {
  broker = await startTestBroker()
  const openings = new Openings()
  const callout = startAuthCallout(await broker.connect('AUTH'), {
    identity: broker.identity,
    authorise: async () => {
      await judging()
      return principal
    },
    admit: () => Promise.resolve(undefined),
    openings,
    onRefusal: () => undefined,
    log: testLog,
  })
  dropper = new KeyDropper(await broker.connect('SYS'), openings, testLog)
  stop = () => callout.stop()
})
afterAll(async () => {
  dropper.stop()
  await stop()
  await broker[Symbol.asyncDispose]()
})

const open = () => connectWithToken(broker.server.tcpUrl, token, { reconnect: false })

test('of a key that is dropped, what was judged before goes, and what is judged after stays', async () => {
  const there = await open()
  const judged = Promise.withResolvers<void>()
  const dropped = Promise.withResolvers<void>()
  judging = () => {
    judged.resolve()
    return dropped.promise
  }
  const late = open()
  await judged.promise
  // Its record has been read as it was: it is let in when the key has been changed and its connections are gone.
  await dropper.drop(keyId)
  await there.closed()
  judging = () => Promise.resolve()
  const after = await open()
  dropped.resolve()
  // It is dropped once the server has let it in, which may be before its client has been told so.
  await late.then(
    (connection: NatsConnection) => connection.closed(),
    (error: unknown) => expect(error).toBeInstanceOf(errors.ConnectionError),
  )
  await after.flush()
  expect(after.isClosed()).toBe(false)
  await after.close()
})
