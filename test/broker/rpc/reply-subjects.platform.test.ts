import { connect as connectPlain, type Msg, type NatsConnection } from '@nats-io/transport-node'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectWithToken } from '../../../broker/rpc/connection.ts'
import { connect as connectExtension } from '../../../sdk/index.ts'
import { inboxPrefix } from '../../../subjects/kit/names.ts'
import { createKey, everything } from '../../support/keys.ts'
import { predictNext, rangeOf, tokenOf } from '../../support/math-random.ts'
import { sharedPlatform, type TestPlatform } from '../../support/platform.ts'

let platform: TestPlatform
let spy: NatsConnection
beforeAll(async () => {
  platform = await sharedPlatform()
  spy = await connectWithToken(platform.tcpUrl, platform.operatorToken)
})
afterAll(async () => {
  await spy.close()
})

/** Some that are asked for in one go come from one cache of V8 or two. */
const asked = 40
/** So many tell the state, with enough left over to know that it is right. */
const seen = 4

/** Reply subjects of a connection's requests, as somebody sees them who is asked. */
async function replySubjects(connection: NatsConnection): Promise<string[]> {
  const subjects: string[] = []
  const subscription = spy.subscribe('gantry.extensions.spy.ask', {
    callback: (_: unknown, message: Msg) => {
      subjects.push(message.reply!)
      message.respond()
    },
  })
  await spy.flush()
  await Promise.all(Array.from({ length: asked }, () => connection.request('gantry.extensions.spy.ask')))
  subscription.unsubscribe()
  return subjects
}

const lastOf = (subject: string): string => subject.split('.').at(-1)!

/** How many of the subjects were foretold from those before. */
function foretold(subjects: readonly string[]): number {
  const tokens = subjects.map(lastOf)
  // Another kind of token is tried as what nats-core would have made of its beginning.
  const asNatsCore = tokens.map((token) => token.slice(0, 8))
  return asNatsCore.filter((token, index) => {
    if (index < seen) return false
    const number = predictNext(asNatsCore.slice(index - seen, index).map(rangeOf))
    return number !== undefined && tokenOf(number) === token
  }).length
}

test('Math.random is solved from four numbers', () => {
  const numbers = Array.from({ length: asked }, () => Math.random())
  const subjects = numbers.map((number) => `_INBOX.k.${tokenOf(number)}`)
  expect(foretold(subjects)).toBeGreaterThan(asked / 2)
})

test('the reply subjects of a bare client can be foretold', async () => {
  const { id, token } = await createKey(platform, everything)
  const bare = await connectPlain({ servers: platform.tcpUrl, token, inboxPrefix: inboxPrefix(id) })
  expect(foretold(await replySubjects(bare))).toBeGreaterThan(asked / 2)
  await bare.close()
})

test('those of our connections cannot', async () => {
  const { token } = await createKey(platform, everything)
  const extension = await connectExtension({ prefix: 'asker', version: '1.0.0', token, onError: () => {} })
  const connections = {
    'with a token': await connectWithToken(platform.tcpUrl, token),
    'of the SDK': extension.connection,
  }
  for (const [name, connection] of Object.entries(connections)) {
    const subjects = await replySubjects(connection)
    expect(foretold(subjects), name).toBe(0)
    expect(new Set(subjects), name).toHaveProperty('size', asked)
    for (const subject of subjects) expect(lastOf(subject), name).toMatch(/^[a-z2-7]{26}$/)
  }
  await connections['with a token'].close()
  await extension.stop()
})
