import type { Msg } from '@nats-io/transport-node'
import { expect, test } from 'vitest'
import { Type } from 'typebox'
import { call, isError, send } from '../../broker/rpc/client.ts'
import { extensionStorage } from '../../subjects/extensions/storage.ts'
import { contracts } from '../../subjects/index.ts'
import { holdsText, jsonSchema } from '../../subjects/kit/json-schema.ts'
import { createClient, everything } from '../support/keys.ts'
import { sharedPlatform } from '../support/platform.ts'
import { connect as connectExtension } from '../../sdk/index.ts'

test('what a caller has stored, delivered elsewhere as a reply, is marked as one and cannot be answered', async () => {
  const platform = await sharedPlatform()
  await using caller = await createClient(platform, everything)
  await using listener = await createClient(platform, everything)
  const extension = await connectExtension({ prefix: 'own', version: '1.0.0', token: caller.token })
  await extension.ready()
  const value = '{"sunny": true}'
  await call(caller.connection, extensionStorage.put, { prefix: 'own', key: 'k', value })
  const heard = Promise.withResolvers<Msg>()
  const elsewhere = 'gantry.extensions.other.news'
  listener.connection.subscribe(elsewhere, { callback: (_, message) => heard.resolve(message) })
  await listener.connection.flush()
  const { subject } = extensionStorage.get
  caller.connection.publish(subject, '{"prefix": "own", "key": "k"}', { reply: elsewhere })
  const message = await heard.promise
  expect(message.string()).toContain('sunny')
  expect(message.reply).toBeFalsy()
  expect(message.headers?.get('Gantry-Reply')).toBe(subject)
  await extension.stop()
})

test('every reply that can hold a text says that it is one', async () => {
  const platform = await sharedPlatform()
  const { operator } = platform
  let answered = 0
  for (const contract of contracts) {
    const isQuestion = contract.audit === undefined && contract.brokerOnly !== true
    if (!isQuestion || (jsonSchema(contract.input).required ?? []).length > 0) continue
    const reply = await send(operator, contract, '{}')
    const canHoldText = isError(reply) || holdsText(jsonSchema(contract.output))
    expect(reply.headers?.get('Gantry-Reply') ?? '', contract.subject).toBe(
      canHoldText ? contract.subject : '',
    )
    if (!isError(reply)) answered += 1
  }
  // Most questions can be asked without any input.
  expect(answered).toBeGreaterThan(20)
})

test.each<[object, boolean]>([
  [Type.Literal('pong'), false],
  [Type.Object({ count: Type.Integer(), is: Type.Boolean() }, { additionalProperties: false }), false],
  [Type.Object({ count: Type.Integer() }), true],
  [Type.Array(Type.Object({ name: Type.Optional(Type.String()) }, { additionalProperties: false })), true],
  [Type.Record(Type.String(), Type.Integer()), true],
  [Type.Union([Type.Integer(), Type.Literal('none')]), false],
  [Type.Union([Type.Integer(), Type.String()]), true],
  [Type.Unknown(), true],
])('%j holds text: %s', (schema, expected) => {
  expect(holdsText(schema)).toBe(expected)
})
