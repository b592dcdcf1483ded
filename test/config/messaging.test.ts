import { mkdtempSync, readFileSync, rmSync, statfsSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir, totalmem } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ConfigError } from '../../config/config-error.ts'
import { loadMessagingConfig } from '../../config/messaging.ts'
import { configProblems } from '../support/config-problems.ts'

let home: string
let path: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'gantry-messaging-'))
  path = join(home, 'messaging.config')
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

const MiB = 2 ** 20
const right = { max_mem: '64MiB', max_file: '256MiB' }
const write = (file: unknown) => writeFileSync(path, JSON.stringify(file))

function refusal(file: unknown): string {
  if (typeof file === 'string') writeFileSync(path, file)
  else write(file)
  const before = readFileSync(path, 'utf8')
  let error: unknown
  try {
    loadMessagingConfig(home)
  } catch (thrown) {
    error = thrown
  }
  expect(error).toBeInstanceOf(ConfigError)
  expect(readFileSync(path, 'utf8')).toBe(before)
  const { message } = error as ConfigError
  expect(message).toContain('messaging.config')
  expect(message).not.toContain('\n')
  return message
}

test('a first start writes the defaults, everything on loopback', () => {
  const config = loadMessagingConfig(home)
  const diskBytes = statfsSync(home).blocks * statfsSync(home).bsize
  expect(config).toEqual({
    maxMemBytes: 256 * MiB,
    maxFileBytes: Math.min(10 * 2 ** 30, Math.floor(diskBytes / 2)),
    storeDir: join(home, 'jetstream'),
    host: '127.0.0.1',
    port: 4222,
    websocketPort: 9222,
    allowedOrigins: [],
    syncAlways: false,
  })
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(loadMessagingConfig(home)).toEqual(config)
})

test.each([
  [{}, {}],
  [right, { maxMemBytes: 64 * MiB, maxFileBytes: 256 * MiB }],
  [
    { port: 4322, websocket_port: 9322 },
    { port: 4322, websocketPort: 9322 },
  ],
  [{ max_mem: '64MiB' }, { maxMemBytes: 64 * MiB }],
  [{ max_file: '256MiB' }, { maxFileBytes: 256 * MiB }],
])('what %j leaves out is as on a first start, and the file stays as it is', (file, expected) => {
  const defaults = loadMessagingConfig(home)
  write(file)
  const before = readFileSync(path, 'utf8')
  expect(loadMessagingConfig(home)).toEqual({ ...defaults, ...expected })
  expect(readFileSync(path, 'utf8')).toBe(before)
})

test('max_file is half of a small disk when the file does not say it', () => {
  // A disk of its own, in memory, smaller than that of the configuration.
  const { blocks, bsize } = statfsSync('/dev/shm')
  write({ store_dir: '/dev/shm/gantry/not/made/yet' })
  const maxFileBytes = Math.min(10 * 2 ** 30, Math.floor((blocks * bsize) / 2))
  expect(loadMessagingConfig(home)).toMatchObject({ maxFileBytes })
})

test('every field is honoured', () => {
  write({
    max_mem: 32 * MiB,
    max_file: '0.5GB',
    store_dir: 'elsewhere/streams',
    host: '0.0.0.0',
    port: 14222,
    websocket_port: 0,
    allowed_origins: ['https://gantry.example', 'http://localhost:3000'],
    sync_always: true,
  })
  expect(loadMessagingConfig(home)).toEqual({
    maxMemBytes: 32 * MiB,
    maxFileBytes: 5e8,
    storeDir: join(home, 'elsewhere/streams'),
    host: '0.0.0.0',
    port: 14222,
    websocketPort: 0,
    allowedOrigins: ['https://gantry.example', 'http://localhost:3000'],
    syncAlways: true,
  })
})

test.each([
  ['zero', 0],
  ['negative', -1],
  ['negative text', '-1GB'],
  ['words', 'plenty'],
  ['empty', ''],
  ['a fraction of a byte', 1.5],
  ['another type', true],
  ['null', null],
  ['below what the platform needs', '1KiB'],
  ['more than any machine has', '8000TiB'],
  ['a number too large to be one', 1e300],
])('a size that is %s is refused with the name of its field', (_, value) => {
  for (const field of ['max_mem', 'max_file']) {
    expect(refusal({ ...right, [field]: value })).toContain(field)
  }
})

test('more than the machine has is refused with what it has', () => {
  expect(refusal({ ...right, max_mem: totalmem() + 1 })).toContain(`${Math.floor(totalmem() / MiB)}MiB`)
  const { blocks, bsize } = statfsSync(home)
  const message = refusal({ ...right, max_file: blocks * bsize + 1 })
  expect(message).toContain('max_file exceeds the disk')
  expect(message).toContain(`${Math.floor((blocks * bsize) / MiB)}MiB`)
})

test('it is the disk of the store folder that must hold max_file', () => {
  // A disk of its own, in memory, smaller than that of the configuration.
  const { blocks, bsize } = statfsSync('/dev/shm')
  const message = refusal({
    ...right,
    store_dir: '/dev/shm/gantry/not/made/yet',
    max_file: blocks * bsize + 1,
  })
  expect(message).toContain(`${Math.floor((blocks * bsize) / MiB)}MiB`)
})

test.each([
  ['port', -1],
  ['port', 65_536],
  ['port', '4222'],
  ['port', 1.5],
  ['websocket_port', 70_000],
  ['host', ''],
  ['host', 'a b'],
  ['host', 'http://x'],
  ['store_dir', ''],
  ['allowed_origins', 'http://x'],
  ['allowed_origins', ['x']],
  ['allowed_origins', ['http://x/path']],
  ['sync_always', 'yes'],
  ['max_files', '1GB'],
])('%s: %j is refused by name', (field, value) => {
  expect(refusal({ ...right, [field]: value })).toContain(field)
})

test('a field in another spelling is named', () => {
  expect(refusal({ ...right, Port: 1 })).toContain('did you mean port?')
})

test('a free port for each protocol', () => {
  write({ ...right, port: 0, websocket_port: 0 })
  expect(loadMessagingConfig(home)).toMatchObject({ port: 0, websocketPort: 0 })
})

test.each(['', 'max_mem: 1GB', '[]', 'null', '"x"'])('a file that is %j is refused', (text) => {
  refusal(text)
})

test('all that is wrong is told at once, each with its place and what was likely meant', () => {
  const text = `{
  "max_mem": "little",
  "max_flie": "1GiB",
  "port": "4222",
  "allowed_origins": ["https://a.example",
    "https://b.example/path"]
}
`
  writeFileSync(path, text)
  const problems = configProblems(() => loadMessagingConfig(home))
  expect(problems).toHaveLength(4)
  expect(problems).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^messaging\.config, line 3, column 15: max_flie .*did you mean max_file\?$/),
      expect.stringMatching(/^messaging\.config, line 4, column 11: port must be /),
      expect.stringMatching(/^messaging\.config: max_mem /),
      expect.stringMatching(/^messaging\.config, line 6, column 5: allowed_origins\[1\] must /),
    ]),
  )
  write({ max_mem: 'little', max_file: 'much' })
  expect(configProblems(() => loadMessagingConfig(home))).toHaveLength(2)
})
