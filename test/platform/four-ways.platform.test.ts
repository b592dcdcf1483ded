import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { keys } from '../../subjects/access/keys.ts'
import { rbac, roles } from '../../subjects/access/roles.ts'
import type { Contract } from '../../subjects/kit/contract.ts'
import { filesystems } from '../../subjects/filesystems/filesystems.ts'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { platform as platformContracts } from '../../subjects/platform/platform.ts'
import { createKey, everything } from '../support/keys.ts'
import { createFolder } from '../support/migrations.ts'
import { sharedPlatform, type TestPlatform } from '../support/platform.ts'
import { type Answer, type Way, type WayName, wayNames, ways } from '../support/ways.ts'

// The same call over REST, two generations of NATS clients and WebSocket: one answer, one refusal.
const folder = createFolder()
let platform: TestPlatform
let id: string
const open = {} as Record<WayName, Way>
const narrow = {} as Record<WayName, Way>
beforeAll(async () => {
  platform = await sharedPlatform()
  const wide = await createKey(platform, everything)
  id = wide.id
  const few = await createKey(platform, {
    pub: { allow: [keys.self.subject, keys.create.subject] },
    sub: { allow: [] },
  })
  for (const name of wayNames) {
    open[name] = await ways[name](platform, wide.token)
    narrow[name] = await ways[name](platform, few.token)
  }
})
afterAll(async () => {
  for (const name of wayNames) {
    await open[name][Symbol.asyncDispose]()
    await narrow[name][Symbol.asyncDispose]()
  }
  folder[Symbol.dispose]()
})

/** The answers of all ways, without what must differ: ids of requests and moments. */
async function answers(of: Record<WayName, Way>, contract: Contract, input: Record<string, unknown>) {
  const list: Answer[] = []
  for (const name of wayNames) list.push(await of[name].call(contract, input))
  return list.map(({ status, body }) => ({
    status,
    body: JSON.parse(
      JSON.stringify(body, (name, value: unknown) =>
        ['requestId', 'timeStampEpochMillis', 'lastUsed'].includes(name) ? undefined : value,
      ),
    ) as Record<string, unknown>,
  }))
}

async function sameAnswer(of: Record<WayName, Way>, contract: Contract, input: Record<string, unknown>) {
  const [first, ...others] = await answers(of, contract, input)
  for (const other of others) expect(other).toEqual(first)
  return first!
}

const rules = { pub: { allow: [] }, sub: { allow: [] } }

describe('the same answer', () => {
  beforeEach(async () => {
    await platform
      .call(filesystems['create-local'], {
        fileSystemId: 'näme with %25?',
        role: 'source',
        fsRoot: folder.root,
      } as never)
      .catch(() => undefined)
  })
  test.each<[Contract, Record<string, unknown>]>([
    [platformContracts.info, {}],
    [platformContracts.ping, {}],
    [keys.self, {}],
    [keys.list, { limit: 1 }],
    [roles.own, {}],
    [roles.list, {}],
    [roles.put, { name: 'watcher', description: 'd', ...rules, visible_extensions: [] }],
    [rbac.check, { action: 'publish', subject: 'gantry.services.v1.keys.list' }],
    [rbac.check, { action: 'subscribe', subject: '$SYS.>' }],
    [filesystems.kinds, {}],
    [filesystems.list, { verbose: true }],
    [migrations.list, {}],
    [migrations.summary, {}],
  ])('$0.subject $1', async (contract, input) => {
    expect((await sameAnswer(open, contract, input)).status).toBe(200)
  })
  test('of one object by its name', async () => {
    expect((await sameAnswer(open, keys.get, { id })).body).toMatchObject({ id })
  })
})

describe('the same refusal', () => {
  test.each<[Contract, Record<string, unknown>, number, string]>([
    [keys.get, { id: 'k00000000000000' }, 404, 'NOT_FOUND'],
    [roles.delete, { name: 'admin' }, 409, 'NOT_ALLOWED_IN_STATE'],
    [roles.delete, { name: 'nobody' }, 404, 'NOT_FOUND'],
    [keys.create, { name: '', capabilities: rules }, 400, 'INVALID_INPUT'],
    [keys.create, { name: 'x', capabilities: { ...rules, pub: { allow: ['>'] } } }, 403, 'EXCEEDS_ROLE'],
    [migrations.get, { migrationId: 'nothing' }, 404, 'NOT_FOUND'],
    [migrations.start, { migrationId: 'nothing' }, 404, 'NOT_FOUND'],
    [filesystems.get, { fileSystemId: 'nothing' }, 404, 'NOT_FOUND'],
    [filesystems['list-paths'], { fileSystemId: 'nothing', path: '/etc' }, 404, 'NOT_FOUND'],
    [
      filesystems['create-local'],
      { fileSystemId: 'x', role: 'target', fsRoot: 'relative' },
      400,
      'INVALID_INPUT',
    ],
    [
      filesystems['create-local'],
      { fileSystemId: 'x', role: 'target', fsRoot: '/nowhere/at/all' },
      409,
      'STORE_REFUSED',
    ],
  ])('$0.subject $1: $3', async (contract, input, status, code) => {
    const answer = await sameAnswer(open, contract, input)
    expect(answer).toMatchObject({ status, body: { code } })
  })

  test('a key beyond its creator exceeds role permissions', async () => {
    const input = { name: 'x', capabilities: { pub: { allow: [keys.list.subject] }, sub: { allow: [] } } }
    const { status, body } = await sameAnswer(narrow, keys.create, input)
    expect(status).toBe(403)
    expect(body['message']).toContain('exceeds role permissions')
    expect(body['details']).toEqual({ publish: [keys.list.subject], subscribe: [] })
  })

  test('an oversized input', async () => {
    const input = { name: 'x', notes: 'x'.repeat(2 ** 20), capabilities: rules }
    for (const { status, body } of await answers(open, keys.create, input))
      expect({ status, code: body['code'] }).toEqual({ status: 413, code: 'TOO_LARGE' })
  })

  test('a subject that the key may not use is refused by the broker', async () => {
    const rest = await narrow.REST.call(keys.list, {})
    expect(rest).toMatchObject({ status: 403, body: { code: 'DENIED' } })
    for (const name of wayNames.filter((name) => name !== 'REST'))
      await expect(narrow[name].call(keys.list, {})).rejects.toThrow(/permission/i)
  })
})
