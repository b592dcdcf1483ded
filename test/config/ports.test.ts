import { once } from 'node:events'
import { createServer } from 'node:net'
import { expect, test } from 'vitest'
import { portHolder } from '../../config/port-holder.ts'
import { flagOf, type PortName, portNames, portSettings, variableOf } from '../../config/port-settings.ts'
import { configuredPorts, givenPorts, portsOfFile, type ListenAddress } from '../../config/ports.ts'
import { loopback } from '../../subjects/kit/names.ts'
import { configProblems } from '../support/config-problems.ts'

const usual = (changes: Partial<Record<PortName, ListenAddress>> = {}) =>
  ({
    ...Object.fromEntries(
      portNames.map((name) => [name, { host: loopback, port: portSettings[name].usual }]),
    ),
    ...changes,
  }) as Record<PortName, ListenAddress>

test('without anything else the files say where all listens', () => {
  const ports = configuredPorts(usual(), {})
  expect(ports.platform).toEqual({
    host: loopback,
    port: 8080,
    base: 8080,
    source: 'platform/application.properties',
    portKey: 'server.port',
    addressKey: 'server.address',
  })
  expect(ports.websocket).toMatchObject({ port: 9222, source: 'messaging.config', portKey: 'websocket_port' })
})

test('a setting has one name, as a flag, as a variable and in gantry.config', () => {
  expect([flagOf('platform.port'), variableOf('platform.port')]).toEqual([
    '--platform-port',
    'GANTRY_PLATFORM_PORT',
  ])
  expect([flagOf('port.offset'), variableOf('port.offset')]).toEqual(['--port-offset', 'GANTRY_PORT_OFFSET'])
})

test('a flag counts for more than a variable, that for more than gantry.config, and that for more than a file', () => {
  const file = portsOfFile('gantry.config', { 'platform.port': 1, 'migrator.port': 2, 'metadata.port': 3 })
  const given = givenPorts(
    { 'platform.port': '4' },
    { GANTRY_PLATFORM_PORT: '5', GANTRY_MIGRATOR_PORT: '6', GANTRY_BROKER_PORT: '' },
  )
  const ports = configuredPorts(usual(), { ...file, ...given })
  expect(portNames.map((name) => ports[name].port)).toEqual([4, 6, 3, 4222, 9222])
  expect(portNames.map((name) => ports[name].source)).toEqual([
    '--platform-port',
    'GANTRY_MIGRATOR_PORT',
    'gantry.config',
    'messaging.config',
    'messaging.config',
  ])
})

test('the offset moves the ports of files and defaults; those of flags and variables, and free ones, stay', () => {
  const file = portsOfFile('gantry.config', { 'metadata.port': 7000, 'port.offset': 1 })
  const given = givenPorts({ 'port.offset': '1000', 'platform.port': '8080' }, {})
  const ports = configuredPorts(usual({ websocket: { host: loopback, port: 0 } }), { ...file, ...given })
  expect(portNames.map((name) => ports[name].port)).toEqual([8080, 19080, 8000, 5222, 0])
})

test('all that are no ports are told at once', () => {
  expect(configProblems(() => givenPorts({ 'port.offset': '-1' }, { GANTRY_PLATFORM_PORT: 'http' }))).toEqual(
    [
      '--port-offset must be a whole number from 0 to 65535, not "-1"',
      'GANTRY_PLATFORM_PORT must be a port number from 1 to 65535, not "http"',
    ],
  )
  expect(
    configProblems(() => configuredPorts(usual(), givenPorts({ 'port.offset': '65000' }, {}))),
  ).toHaveLength(5)
})

test('an address for all, and the port of the sign-in page, count for more than files', () => {
  const ports = configuredPorts(usual(), {}, { address: '0.0.0.0', signInPort: 8081 })
  expect(portNames.map((name) => ports[name].host)).toEqual(portNames.map(() => '0.0.0.0'))
  expect(ports.platform.addressKey).toBe('GANTRY_LISTEN_ADDRESS')
  expect(ports.signIn).toMatchObject({
    host: '0.0.0.0',
    port: 8081,
    source: 'GANTRY_DEVELOPMENT_SIGN_IN_PORT',
  })
  expect(
    configProblems(() => configuredPorts(usual(), {}, { address: undefined, signInPort: 8080 })),
  ).toEqual([
    'GANTRY_DEVELOPMENT_SIGN_IN_PORT must differ from server.port in platform/application.properties (8080)',
  ])
})

test('a port that two variables name is told by their names', () => {
  const given = givenPorts({}, { GANTRY_PLATFORM_PORT: '19080', GANTRY_MIGRATOR_PORT: '19080' })
  expect(configProblems(() => configuredPorts(usual(), given))).toEqual([
    'GANTRY_MIGRATOR_PORT must differ from GANTRY_PLATFORM_PORT (19080)',
  ])
})

test('a port that is there twice is refused, unless the addresses differ', () => {
  const twice = (host: string) =>
    usual({ broker: { host, port: 5000 }, websocket: { host: loopback, port: 5000 } })
  const problem = 'messaging.config: websocket_port must differ from port in messaging.config (5000)'
  expect(configProblems(() => configuredPorts(twice(loopback), {}))).toEqual([problem])
  expect(configProblems(() => configuredPorts(twice('::'), {}))).toEqual([problem])
  expect(configuredPorts(twice('127.0.0.2'), {}).websocket.port).toBe(5000)
})

test('who listens on a port is known by name and process', async () => {
  const server = createServer().listen(0, '::1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  expect(portHolder(port)).toContain(`(process ${process.pid})`)
  await new Promise((resolve) => server.close(resolve))
  expect(portHolder(port)).toBeUndefined()
})

test('a port that no browser connects to is refused for all but NATS clients', () => {
  const offset = { 'port.offset': { value: 2_000, source: '--port-offset', isExact: false } }
  expect(configProblems(() => configuredPorts(usual(), offset))).toEqual([
    'platform/application.properties: browsers refuse to connect to port 10080: choose another offset, or change server.port',
  ])
  expect(configuredPorts(usual({ broker: { host: loopback, port: 6000 } }), {}).broker.port).toBe(6000)
})
