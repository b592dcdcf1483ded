import { expect, test } from 'vitest'
import { reachOf } from '../../config/reach.ts'
import { configProblems } from '../support/config-problems.ts'

test('variables say where everything listens', () => {
  expect(reachOf({})).toEqual({ address: undefined, signInPort: undefined })
  expect(reachOf({ GANTRY_LISTEN_ADDRESS: '', GANTRY_DEVELOPMENT_SIGN_IN_PORT: '' })).toEqual(reachOf({}))
  const given = reachOf({ GANTRY_LISTEN_ADDRESS: '0.0.0.0', GANTRY_DEVELOPMENT_SIGN_IN_PORT: '8081' })
  expect(given).toEqual({ address: '0.0.0.0', signInPort: 8081 })
})

test('what cannot be used is named, all at once', () => {
  expect(
    configProblems(() =>
      reachOf({ GANTRY_LISTEN_ADDRESS: 'http://x', GANTRY_DEVELOPMENT_SIGN_IN_PORT: '0' }),
    ),
  ).toEqual([
    'GANTRY_LISTEN_ADDRESS must be an address such as 0.0.0.0, not "http://x"',
    'GANTRY_DEVELOPMENT_SIGN_IN_PORT must be a port number from 1 to 65535, not "0"',
  ])
})
