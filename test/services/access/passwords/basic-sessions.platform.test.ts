import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseToken } from '../../../../broker/identity/token.ts'
import { BasicSessions, sessionMs } from '../../../../services/access/passwords/basic-sessions.ts'
import { type Person, signIn } from '../../../../services/access/roles/people.ts'
import { type AccessState, openState } from '../../../../services/access/state.ts'
import { OwnerRoom } from '../../../../services/access/keys/owner-limits.ts'
import { startTestBroker, type TestBroker } from '../../../support/broker.ts'

let broker: TestBroker
let state: AccessState
beforeAll(async () => {
  broker = await startTestBroker()
  state = await openState(await broker.connect('PLATFORM'))
  await state.assignments.put('admins', { group: 'admins', roles: ['admin'] })
})
afterAll(() => broker[Symbol.asyncDispose]())

const issuer = {
  salt: 'salt of the tests',
  location: { instance: 'i', nats: 'nats://127.0.0.1:1', http: 'http://127.0.0.1:1' },
}
const rules = {
  adminSubject: 'nobody',
  adminGroup: undefined,
  bootstrapAcknowledged: false,
  defaultRole: undefined,
}

/** Sessions with a clock of their own, and the keys whose connections they dropped. */
function open() {
  const clock = { now: 0 }
  const kicked: string[] = []
  const kick = (keyId: string) => {
    kicked.push(keyId)
    return Promise.resolve()
  }
  const sessions = new BasicSessions(
    {
      keys: state.keys,
      kick,
      signIn: (person) => signIn(person, { state, rules, issuer, room: new OwnerRoom(state, kick), kick }),
    },
    () => clock.now,
  )
  const keyFor = async (subject: string, ...groups: string[]) => {
    const person: Person = { source: 'ldap', subject, groups }
    return parseToken(await sessions.tokenFor(person))!.keyId
  }
  return { clock, kicked, keyFor }
}

test('one person has one session, however many ask at once', async () => {
  const { keyFor } = open()
  const all = await Promise.all(Array.from({ length: 10 }, () => keyFor('one')))
  expect(new Set(all).size).toBe(1)
  expect(await keyFor('one')).toBe(all[0])
  expect(await keyFor('two')).not.toBe(all[0])
})

test('who has left a group loses what it allowed at once, connections included', async () => {
  const { kicked, keyFor } = open()
  const asAdmin = await keyFor('leaver', 'admins', 'others')
  expect(await keyFor('leaver', 'others', 'admins')).toBe(asAdmin)
  const [after, same] = await Promise.all([keyFor('leaver', 'others'), keyFor('leaver', 'others')])
  expect(after).not.toBe(asAdmin)
  expect(same).toBe(after)
  expect((await state.keys.get(asAdmin))?.revoked).toBeDefined()
  expect((await state.keys.get(after))?.roles).toEqual([])
  expect(kicked).toEqual([asAdmin])
})

test('after an hour roles are looked at again; what is still allowed may finish', async () => {
  const { clock, kicked, keyFor } = open()
  const first = await keyFor('stayer', 'team')
  await state.assignments.put('team', { group: 'team', roles: ['viewer'] })
  clock.now = sessionMs - 1
  expect(await keyFor('stayer', 'team')).toBe(first)
  clock.now = sessionMs
  const second = await keyFor('stayer', 'team')
  expect((await state.keys.get(second))?.roles).toEqual(['viewer'])
  expect(kicked).toEqual([])

  await state.assignments.delete('team')
  clock.now += sessionMs
  await keyFor('stayer', 'team')
  expect(kicked).toEqual([second])
})
