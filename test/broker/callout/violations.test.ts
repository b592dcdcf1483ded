import { appendFileSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { addressMarks, edgeName } from '../../../broker/messages/client-address.ts'
import { LogTail } from '../../../broker/server/log-tail.ts'
import { formatToken } from '../../../broker/identity/token.ts'
import { violationOf } from '../../../broker/callout/violations.ts'
import { recordingLog } from '../../support/log.ts'
import { testLog } from '../../support/platform.ts'
import { until } from '../../support/until.ts'

const marks = addressMarks({ derive: () => Buffer.alloc(32) })
const account = `A${'B'.repeat(55)}`
const token = formatToken({ instance: 'I', nats: 'n', http: 'h' }, 'k1', 'secret')

/** A line as nats-server 2.15 writes it. */
const line = ({
  host = '127.0.0.1',
  client = '"v3.4.0:nats.js" - ',
  user = 'k1',
  what = 'Publish Violation - Subject "gantry.services.v1.keys.list"',
} = {}) =>
  `[1] 2026/01/31 12:00:00.000000 [ERR] ${host}:50150 - cid:63 - ${client}"${account}/GANTRY/user:${user}" - ${what}`

const seen = { keyId: 'k1', action: 'publish', subject: 'gantry.services.v1.keys.list', from: '127.0.0.1' }
const spoof = JSON.stringify(`v1:x:y" - "${account}/GANTRY/user:k2" - Publish Violation - Subject "z"`)
const ofEdge = edgeName(marks, '10.1.1.1', token)

test.each<[string, string, object | undefined]>([
  ['a publication', line(), seen],
  ['a client that tells nothing of itself', line({ client: '' }), seen],
  ['a WebSocket', line().replace('cid:', 'wid:'), seen],
  ['IPv6', line({ host: '[::1]' }), { ...seen, from: '::1' }],
  [
    'a subscription',
    line({ what: 'Subscription Violation - Subject "foo.>", Queue: "q", SID 1' }),
    { ...seen, action: 'subscribe', subject: 'foo.>' },
  ],
  ['a name that looks like a line', line({ client: `${spoof} - ` }), seen],
  ['a name that looks like a user', line({ client: `"v1:x:${account}/GANTRY/user:k2" - ` }), seen],
  [
    'a subject with a token',
    line({ what: `Publish Violation - Subject "x.${token}.y"` }),
    { ...seen, subject: undefined },
  ],
  ['the platform itself', line({ user: `U${'B'.repeat(55)}` }), undefined],
  ['the edge', line({ client: `"v3.4.0:nats.js:${ofEdge}" - ` }), undefined],
  [
    'a mark of the edge for another key',
    line({ client: `"v3.4.0:nats.js:${ofEdge}" - `, user: 'k2' }),
    { ...seen, keyId: 'k2' },
  ],
  ['something else', line({ what: 'Maximum Payload Violation' }), undefined],
  ['nothing', '', undefined],
])('a line of %s', (_, text, expected) => expect(violationOf(text, marks)).toEqual(expected))

const folder = mkdtempSync(join(tmpdir(), 'gantry-tail-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('a line is read soon after it was written, also when the file was replaced meanwhile', async () => {
  const path = join(folder, 'watched')
  writeFileSync(path, '')
  const lines: string[] = []
  const tail = await LogTail.open(path, (one) => lines.push(one), testLog)
  appendFileSync(path, 'one\n')
  await until('it was read', () => lines.length === 1)
  renameSync(path, `${path}.1`)
  writeFileSync(path, 'two\n')
  await until('the new file was read', () => lines.length === 2)
  await tail.stop()
  expect(lines).toEqual(['one', 'two'])
})

test('lines are read from now on, each once, over a change of the file', async () => {
  const path = join(folder, 'log')
  writeFileSync(path, 'before\n')
  const lines: string[] = []
  const logged = recordingLog()
  const tail = await LogTail.open(path, (one) => lines.push(one), logged.log)
  appendFileSync(path, 'one\ntw')
  await tail.look()
  appendFileSync(path, 'o\nthree\n')
  renameSync(path, `${path}.1`)
  writeFileSync(path, 'four\n')
  await tail.look()
  appendFileSync(path, `${'x'.repeat(3 * 2 ** 20)}\nfive\n`)
  await tail.look()
  appendFileSync(path, 'six\n')
  await tail.stop()
  expect(lines.filter((one) => !one.startsWith('x'))).toEqual(['one', 'two', 'three', 'four', 'five', 'six'])
  expect(logged.text()).toContain('grows too fast')
})
