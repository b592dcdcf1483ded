import { expect, test } from 'vitest'
import { webhookHostsIn } from '../../../config/webhook-hosts.ts'
import { viewer } from '../../../services/access/roles/built-in-roles.ts'
import { builtInRules, checkRule } from '../../../services/alerts/built-in-rules.ts'
import { judge, type Track } from '../../../services/alerts/judge.ts'
import { isInner } from '../../../broker/common/inner-addresses.ts'
import { post, signatureOf } from '../../../services/alerts/webhooks/post.ts'
import { alertEvents, alerts } from '../../../subjects/observability/alerts.ts'
import { alertKinds } from '../../../subjects/observability/alert-model.ts'
import { fieldsOf } from '../../../subjects/kit/json-schema.ts'
import { startReceiver } from '../../support/receiver.ts'

/** Each letter is a second: whether it is so; what comes of it: f for fires, r for resolves. */
function story(text: string, rule: { forSeconds: number; keepFiringForSeconds: number }): string {
  let track: Track | undefined
  return text
    .split('')
    .map((letter, second) => {
      const next = judge(rule, track, letter === 'x', second * 1_000)
      track = next.track
      return next.verdict?.[0] ?? '.'
    })
    .join('')
}

test('an alert fires when it has been so for long enough, and is resolved when it has been over for long enough', () => {
  const rule = { forSeconds: 2, keepFiringForSeconds: 3 }
  expect(story('xx-xxxx--x--xx----', rule)).toBe('.....f..........r.')
  expect(story('x-x', { forSeconds: 0, keepFiringForSeconds: 0 })).toBe('frf')
})

test('a break ends the patience before an alert', () => {
  expect(story('xx-xx-xx-', { forSeconds: 2, keepFiringForSeconds: 0 })).toBe('.........')
})

test('each kind has one built-in rule that makes sense', () => {
  for (const rule of builtInRules) expect(() => checkRule(rule)).not.toThrow()
  expect(builtInRules.map(({ kind }) => kind)).toEqual(fieldsOf(alerts['put-rule'].input)['kind']!.enum)
})

test.each([
  ['storage-file', { threshold: 101 }, 'threshold must be at most 100 % for storage-file'],
  ['extension-lost', { threshold: 1 }, 'threshold does not apply to extension-lost'],
  ['key-expiring', { windowSeconds: 60 }, 'windowSeconds applies only to error-rate'],
])('a rule of kind %s with %o is refused', (kind, wrong, text) => {
  const rule = builtInRules.find((one) => one.kind === kind)!
  expect(() => checkRule({ ...rule, ...wrong })).toThrow(text)
})

test('alerts name what is not everybody’s: viewers may not ask for them, and events say little', () => {
  for (const { subject } of Object.values(alerts)) expect(viewer.pub.allow).not.toContain(subject)
  for (const { payload } of Object.values(alertEvents))
    expect(Object.keys(fieldsOf(payload))).toEqual(['id', 'rule', 'kind', 'severity', 'state', 'migration'])
  // Events of migrations name these anyway.
  const named = Object.entries(alertKinds).filter(([, kind]) => 'migrationOf' in kind)
  expect(named.map(([name]) => name).filter((name) => !/^(?:metadata-)?migration-/.test(name))).toEqual([])
})

test.each([
  ...['127.0.0.1', '10.1.2.3', '172.31.0.1', '192.168.0.1', '169.254.169.254', '100.64.0.1', '0.0.0.0'],
  ...['255.255.255.255', '224.0.0.1', '::1', '::', 'fe80::1', 'fd00::1', '::ffff:127.0.0.1', '::ffff:a00:1'],
  ...['64:ff9b::7f00:1', '2002:7f00:1::', '::7f00:1', '::ffff:0:7f00:1', '2001:0:1::1', 'fec0::1'],
])('%s is an address of an inner network', (address) => {
  expect(isInner(address)).toBe(true)
})

test.each(['1.1.1.1', '172.32.0.1', '100.128.0.1', '2606:4700::1111', '::ffff:1.1.1.1'])(
  '%s is an address of the outer network',
  (address) => {
    expect(isInner(address)).toBe(false)
  },
)

test('hosts of inner networks are named with or without a port', () => {
  const hosts = (text: string) => [...webhookHostsIn({ 'alerts.webhook_hosts': text })]
  expect(hosts('Alerts.Inner, 10.1.2.3:8443,::1,[fd00::1]:81, x:80')).toEqual([
    ...['alerts.inner', '10.1.2.3:8443', '::1', '[fd00::1]:81', 'x'],
  ])
  expect(() => hosts('http://x/')).toThrow('alerts.webhook_hosts must be hosts')
})

// Of the document of Standard Webhooks.
test('the signature is that of Standard Webhooks', () => {
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
  const signature = signatureOf(secret, 'msg_p5jXN8AQM9LWM0D4loKWxJek', 1_614_265_330, '{"test": 2432232314}')
  expect(signature).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=')
})

test('who does not answer is not waited for, and what is not taken says why', async () => {
  await using receiver = await startReceiver()
  const inside = { innerHosts: new Set(['127.0.0.1']) }
  const send = (url: string, options: Parameters<typeof post>[1]) =>
    post({ id: 'msg_1', url, secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', body: '{}' }, options)
  receiver.answer = () => undefined
  await expect(send(receiver.url, { ...inside, timeoutMs: 50 })).rejects.toThrow('no response within 0.05 s')
  receiver.answer = (response) => response.writeHead(307, { location: `${receiver.url}/other` }).end()
  await expect(send(receiver.url, inside)).rejects.toThrow('status 307: redirects are not followed')
  receiver.answer = (response) => response.writeHead(200).end('x'.repeat(100_000))
  await send(receiver.url, { innerHosts: new Set([`127.0.0.1:${receiver.port}`]) })
  // The first one may have been given up before it was sent.
  const taken = receiver.messages.length
  expect(taken).toBeGreaterThanOrEqual(2)

  await expect(send(receiver.url, { innerHosts: new Set() })).rejects.toThrow(
    '127.0.0.1 is an address on this',
  )
  // A name is looked at when the connection is made; other notations of an address are that address.
  for (const host of ['localhost', '2130706433', '0x7f.1'])
    await expect(
      send(`http://${host}:${receiver.port}/secret`, { innerHosts: new Set() }),
      host,
    ).rejects.toThrow(/^(localhost|127\.0\.0\.1) is an address on this host or in a private network/)
  await expect(send('http://127.0.0.1:1/secret', inside)).rejects.toThrow(
    /^the webhook cannot be reached \(ECONNREFUSED\)$/,
  )
  expect(receiver.messages).toHaveLength(taken)
})
