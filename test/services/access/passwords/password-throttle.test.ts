import { expect, test } from 'vitest'
import { networkOf } from '../../../../broker/messages/client-address.ts'
import {
  maxWrongForUser,
  maxWrongFromAddress,
  PasswordThrottle,
  windowMs,
} from '../../../../services/access/passwords/password-throttle.ts'

/** How many tries are let through of many. */
function passed(throttle: PasswordThrottle, tries: readonly [address: string, userName: string][]): number {
  return tries.filter(([address, userName]) => {
    try {
      throttle.begin(address, userName)
      return true
    } catch (error) {
      expect(error).toMatchObject({ code: 'THROTTLED' })
      return false
    }
  }).length
}
const times = <T>(count: number, make: (index: number) => T) =>
  Array.from({ length: count }, (_, i) => make(i))

test('one user from one address gets a few tries in each window, from another address others', () => {
  let now = 0
  const throttle = new PasswordThrottle(() => now)
  const many = times(20, (): [string, string] => ['192.0.2.1', 'ann'])
  expect(passed(throttle, many)).toBe(maxWrongForUser)
  expect(passed(throttle, [['192.0.2.2', 'ann']])).toBe(1)
  expect(() => throttle.begin('192.0.2.1', 'ann')).toThrow('try again in 60 s')
  now = windowMs - 1
  expect(passed(throttle, many)).toBe(0)
  now = windowMs
  expect(passed(throttle, many)).toBe(maxWrongForUser)
})

test('one address gets so many for all users', () => {
  const throttle = new PasswordThrottle(() => 0)
  expect(
    passed(
      throttle,
      times(200, (index) => ['192.0.2.1', `user ${index}`]),
    ),
  ).toBe(maxWrongFromAddress)
  expect(passed(throttle, [['192.0.2.2', 'user 1']])).toBe(1)
})

test('a network of IPv6 is one address', () => {
  const throttle = new PasswordThrottle(() => 0)
  const all = times(20, (index): [string, string] => [`2001:db8::${index.toString(16)}`, 'ann'])
  expect(passed(throttle, all)).toBe(maxWrongForUser)
})

test('tries that were none are not counted', () => {
  const throttle = new PasswordThrottle(() => 0)
  for (let count = 0; count < 200; count++) throttle.begin('192.0.2.1', 'ann')()
  expect(passed(throttle, [['192.0.2.1', 'ann']])).toBe(1)
})

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['2001:db8::1', '2001:db8:0:0'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['::1', '0:0:0:0'],
  ['fe80::1:2:3:4', 'fe80:0:0:0'],
  ['1:2:3:4:5:6:7::', '1:2:3:4'],
  ['broker', 'broker'],
])('%s is counted as %s', (address, network) => expect(networkOf(address)).toBe(network))
