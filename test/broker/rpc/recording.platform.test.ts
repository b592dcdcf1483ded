import { expect, test } from 'vitest'
import { Type } from 'typebox'
import { call } from '../../../broker/rpc/client.ts'
import { addressMarks, edgeName, originOfConnection } from '../../../broker/messages/client-address.ts'
import type { Outcome, Recorder } from '../../../broker/rpc/recording.ts'
import { serve } from '../../../broker/rpc/serve.ts'
import { formatToken } from '../../../broker/identity/token.ts'
import { resource } from '../../../subjects/kit/contract.ts'
import { GantryError } from '../../../subjects/kit/errors.ts'
import { strict } from '../../../subjects/kit/schemas.ts'
import { startTestBroker } from '../../support/broker.ts'
import { recordingLog } from '../../support/log.ts'

const trial = resource('trial', {
  look: { summary: 'Looks', input: strict({}), output: strict({}), errors: [], http: [] },
  change: {
    summary: 'Changes',
    input: strict({ fault: Type.Optional(Type.String({ maxLength: 20 })) }),
    output: strict({ name: Type.String() }),
    errors: ['NOT_FOUND'],
    http: [],
    audit: { object: 'name', details: ['fault'] },
  },
})

test('what is declared to change something is recorded before its answer, and not done when that is impossible', async () => {
  await using broker = await startTestBroker()
  const inside = await broker.connect('PLATFORM')
  const user = await broker.connect('GANTRY', 'k1', { pub: { allow: ['gantry.>'] }, sub: { allow: [] } })
  const outcomes: (Omit<Outcome, 'contract'> & { what: string })[] = []
  let changes = 0
  let isFull = false
  let isLost = false
  const recorder: Recorder = {
    requireRoom: () => {
      if (isFull) throw new GantryError('STORAGE_FULL', 'no room')
    },
    record: ({ contract, ...outcome }) => {
      outcomes.push({ ...outcome, what: contract.verb })
      return isLost ? Promise.reject(new GantryError('UNAVAILABLE', 'not stored')) : Promise.resolve()
    },
  }
  const { log } = recordingLog()
  const handlers = {
    look: () => ({}),
    change: ({ fault }: { fault?: string }) => {
      changes += 1
      if (fault === 'gone') throw new GantryError('NOT_FOUND', 'it is gone')
      if (fault !== undefined) throw new Error('it broke')
      return { name: 'it' }
    },
  }
  serve(inside, trial, handlers, { identity: broker.identity, version: '1', log, recorder })
  await inside.flush()
  const change = (input: { fault?: string }) =>
    call(user, trial.change, input, { requestId: 'r1' }).then(
      ({ name }) => name,
      ({ code }: GantryError) => code,
    )

  await call(user, trial.look, {})
  expect(outcomes).toEqual([])
  expect(await change({})).toBe('it')
  expect(await change({ fault: 'gone' })).toBe('NOT_FOUND')
  expect(await change({ fault: 'other' })).toBe('INTERNAL')
  expect(await change({ fault: 'far too long to be a fault' })).toBe('INVALID_INPUT')
  const common = {
    what: 'change',
    caller: { kind: 'key', keyId: expect.any(String) },
    object: undefined,
    from: '127.0.0.1',
    requestId: 'r1',
  }
  expect(outcomes).toEqual([
    { ...common, object: 'it', result: 'ok' },
    { ...common, result: 'NOT_FOUND', details: 'fault=gone' },
    { ...common, result: 'INTERNAL', details: 'fault=other' },
    { ...common, result: 'INVALID_INPUT' },
  ])

  // Done and not recorded: nobody is told that it is done, and it is noted once.
  isLost = true
  outcomes.length = 0
  expect(await change({})).toBe('UNAVAILABLE')
  expect(outcomes).toHaveLength(1)
  expect(await change({ fault: 'gone' })).toBe('NOT_FOUND')

  isFull = true
  const before = changes
  expect(await change({})).toBe('STORAGE_FULL')
  expect(changes).toBe(before)
  await call(user, trial.look, {})
})

test('the mark of an address holds for what it was made for, and for the identity that made it', async () => {
  await using broker = await startTestBroker()
  const marks = addressMarks(broker.identity)
  const marked = marks.mark('10.1.1.1', 'a.subject', 'r1')
  expect(marks.read(marked, 'a.subject', 'r1')).toBe('10.1.1.1')
  expect(marks.read(marked, 'a.subject', 'r2')).toBeUndefined()
  expect(marks.read(marked, 'another.subject', 'r1')).toBeUndefined()
  expect(marks.read(marked.replace('10.1.1.1', '10.1.1.2'), 'a.subject', 'r1')).toBeUndefined()
  for (const wrong of ['', '10.1.1.1', '10.1.1.1 ', '10.1.1.1 AAAA', `${marked} x`]) {
    expect(marks.read(wrong, 'a.subject', 'r1')).toBeUndefined()
  }

  const place = { instance: 'I', nats: 'n', http: 'h' }
  const name = edgeName(marks, '::ffff:10.1.1.1', formatToken(place, 'k1', 'secret'))
  const host = '127.0.0.1'
  const own = { address: host, isEdge: false }
  expect(originOfConnection(marks, { name, host, keyId: 'k1' })).toEqual({
    address: '10.1.1.1',
    isEdge: true,
  })
  expect(originOfConnection(marks, { name, host, keyId: 'k2' })).toEqual(own)
  expect(originOfConnection(marks, { name: 'edge', host, keyId: 'k1' })).toEqual(own)
})
