import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ConfigError } from '../../config/config-error.ts'
import { loadListenOptions } from '../../http-edge/properties.ts'
import { createHome, startTestPlatform } from '../support/platform.ts'

let home: string
let path: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'gantry-properties-'))
  path = join(home, 'migrator/application.properties')
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

function load(text: string) {
  mkdirSync(join(home, 'migrator'), { recursive: true })
  writeFileSync(path, text)
  return loadListenOptions(home, 'migrator')
}

test('a first start makes the files, everything on loopback', () => {
  expect(loadListenOptions(home, 'migrator')).toEqual({ host: '127.0.0.1', port: 18080 })
  expect(loadListenOptions(home, 'platform')).toEqual({ host: '127.0.0.1', port: 8080 })
  const text = readFileSync(path, 'utf8')
  expect(text).toMatch(/^server\.address=127\.0\.0\.1$/m)
  expect(text).toMatch(/^# .*Remove or comment out/m)
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(loadListenOptions(home, 'migrator')).toEqual({ host: '127.0.0.1', port: 18080 })
})

test.each([
  ['', { host: '::', port: 18080 }],
  ['server.port=1', { host: '::', port: 1 }],
  ['#server.address=127.0.0.1', { host: '::', port: 18080 }],
  ['! server.address=127.0.0.1', { host: '::', port: 18080 }],
  ['  # server.address=127.0.0.1\r\nserver.port=2\r\n', { host: '::', port: 2 }],
  ['server.address = 10.0.0.1 \nserver.port : 3', { host: '10.0.0.1', port: 3 }],
  ['server.address: ::1', { host: '::1', port: 18080 }],
  ['server.address=localhost', { host: 'localhost', port: 18080 }],
  ['\uFEFFserver.port=4', { host: '::', port: 4 }],
  // As programs in Java write and read such files.
  ['server.port 5', { host: '::', port: 5 }],
  ['server.address=\\:\\:1', { host: '::1', port: 18080 }],
  ['server.addr\\u0065ss=local\\u0068ost', { host: 'localhost', port: 18080 }],
  ['server.address=local\\\n   host\nserver.port=\\\r\n6', { host: 'localhost', port: 6 }],
])('%j', (text, options) => expect(load(text)).toEqual(options))

test.each([
  ['server.port=0', 1, 'server.port'],
  ['server.port=65536', 1, 'server.port'],
  ['server.port=', 1, 'server.port'],
  ['server.port=80a', 1, 'server.port'],
  ['server.port=-1', 1, 'server.port'],
  ['\nserver.port=1e3', 2, 'server.port'],
  ['server.address=', 1, 'server.address'],
  ['server.address=a b', 1, 'server.address'],
  ['server.address=http://x', 1, 'server.address'],
  ['# fine\n\nserver.adress=127.0.0.1', 3, 'server.adress'],
  ['server.port=1\nnonsense', 2, 'the line must be key=value'],
  ['server.port=1\nserver.port=2', 2, 'server.port'],
  ['management.port=1', 1, 'management.port'],
  ['server.address=\\\nlocalhost\nserver.port=x', 3, 'server.port'],
  ['=1', 1, 'the line must be key=value'],
  // Java drops such backslashes without a word.
  ['server.address=domain\\host', 1, 'a backslash must be written as \\\\'],
  ['server.address=\\u00zz', 1, 'a backslash must be written as \\\\'],
])('%j is refused with file, line and key', (text, line, named) => {
  let error: unknown
  try {
    load(text)
  } catch (thrown) {
    error = thrown
  }
  expect(error).toBeInstanceOf(ConfigError)
  const { message } = error as ConfigError
  expect(message).toContain(`${path}, line ${line}`)
  expect(message).toContain(named)
  expect(message).not.toContain('\n')
  expect(readFileSync(path, 'utf8')).toBe(text)
})

test('a port that is taken, or an address that is not of this machine: one line with the fix', async () => {
  await using other = await startTestPlatform()
  const taken = Number(new URL(other.httpUrls.platform).port)
  const own = await createHome({}, home)
  writeFileSync(path, `server.address=127.0.0.1\nserver.port=${taken}\n`)
  await expect(startTestPlatform({ home: own })).rejects.toThrow(
    `migrator/application.properties: port ${taken} on 127.0.0.1 is in use by node (process ${process.pid}): stop it, or change server.port`,
  )
  for (const address of ['192.0.2.77', 'nowhere.invalid']) {
    writeFileSync(path, `server.address=${address}\n`)
    const error: unknown = await startTestPlatform({ home: own }).catch((error: unknown) => error)
    expect(error).toBeInstanceOf(ConfigError)
    expect((error as Error).message).toMatch(/migrator\/application\.properties: .*change server\.address/)
  }
})
