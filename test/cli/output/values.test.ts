import { mkdtempDisposableSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type Field, shapeOf } from '../../../cli/output/shape.ts'
import { inputOf } from '../../../cli/output/values.ts'
import { filesystemKinds } from '../../../subjects/filesystems/kinds.ts'
import { resources } from '../../../subjects/index.ts'
import type { Contract } from '../../../subjects/kit/contract.ts'
import { gantry } from '../support.ts'

const { exclusions, filesystems, keys, roles } = resources
const create = filesystems['create-adls2-shared-key']
const shape = shapeOf(create)
const field = (name: string): Field => shape.flags.find((one) => one.name === name)!

const read = (
  given: readonly (readonly [Field, string])[],
  { cwd = '/', stdin = '' }: { cwd?: string; stdin?: string } = {},
) =>
  inputOf(create, shape, new Map(given), {
    cwd,
    terminal: { err: () => undefined },
    readStdin: () => Promise.resolve(stdin),
  })

test('the secrets of all kinds are known', () => {
  for (const [kind, { secrets }] of Object.entries(filesystemKinds)) {
    for (const verb of [`create-${kind}`, `update-${kind}`] as (keyof typeof filesystems)[]) {
      const found = shapeOf(filesystems[verb]).flags.filter(({ secret }) => secret)
      expect(found.map(({ name }) => name)).toEqual(secrets)
    }
  }
})

test('a secret may be in a file or on stdin; the line break at its end is not part of it', async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'gantry-cli-'))
  writeFileSync(join(folder.path, 'key'), 'c2VjcmV0\n')
  const inCwd = { cwd: folder.path }
  expect(await read([[field('sharedKey'), '@key']], inCwd)).toEqual({ sharedKey: 'c2VjcmV0' })
  expect(await read([[field('sharedKey'), `@${folder.path}/key`]])).toEqual({ sharedKey: 'c2VjcmV0' })
  expect(await read([[field('sharedKey'), '-']], { stdin: 'c2VjcmV0\r\n' })).toEqual({
    sharedKey: 'c2VjcmV0',
  })
  expect(await read([[field('sharedKey'), 'c2VjcmV0']])).toEqual({ sharedKey: 'c2VjcmV0' })
})

test('what is no secret is taken as it is', async () => {
  expect(await read([[field('containerName'), '@key']])).toEqual({ containerName: '@key' })
  expect(await read([[field('containerName'), '-']])).toEqual({ containerName: '-' })
})

test.for([
  ['@not-there', '', /--shared-key: \/not-there does not exist/],
  ['@', '', /--shared-key: \/ cannot be read \(EISDIR\)/],
  ['-', '\n', /--shared-key: stdin is empty/],
  ['-', 'x'.repeat(2 ** 20 + 2), /--shared-key: stdin is larger than/],
] as const)('%s is refused by the flag’s name', async ([text, stdin, message]) => {
  await expect(read([[field('sharedKey'), text]], { stdin })).rejects.toMatchObject({
    code: 'INVALID_INPUT',
    message: expect.stringMatching(message) as string,
  })
})

test('a moment may be typed as how long ago it was', async () => {
  const typed = async (contract: Contract, name: string, text: string) => {
    const its = shapeOf(contract)
    const one = its.flags.find((flag) => flag.name === name)!
    const sources = {
      cwd: '/',
      terminal: { err: () => undefined },
      readStdin: () => Promise.resolve(''),
    }
    return (await inputOf(contract, its, new Map([[one, text]]), sources))[name]
  }
  const agoMs = (moment: unknown) => Date.now() - new Date(moment as string | number).getTime()
  for (const [text, ms] of [
    ['90s', 90_000],
    ['30m', 1_800_000],
    ['1h', 3_600_000],
    ['2d', 172_800_000],
  ] as const) {
    const since = await typed(resources.audit.list, 'since', text)
    expect(since).toMatch(/^\d{4}-.+Z$/)
    expect(Math.abs(agoMs(since) - ms)).toBeLessThan(5_000)
    const epoch = await typed(resources.verifications.create, 'ignoreAfterTimestamp', text)
    expect(epoch).toBeTypeOf('number')
    expect(Math.abs(agoMs(epoch) - ms)).toBeLessThan(5_000)
  }
  const moment = '2026-01-31T00:00:00Z'
  expect(await typed(resources.audit.list, 'since', moment)).toBe(moment)
  expect(await typed(resources.observability['query_scalar_metrics'], 'since', '1h')).toBe('1h')
  expect((await gantry(['audit', 'list', '--help'])).out).toContain('or how long ago, such as 30m, 1h or 2d')
})

test('stdin is for one flag', async () => {
  const roleShape = shapeOf(roles.put)
  const [, pub, sub] = roleShape.flags
  const given = new Map([pub!, sub!].map((one) => [one, '-']))
  const reading = inputOf(roles.put, roleShape, given, {
    cwd: '/',
    terminal: { err: () => undefined },
    readStdin: () => Promise.resolve('{}'),
  })
  await expect(reading).rejects.toThrow('--pub and --sub cannot both be read from stdin')
})

test('an object may be in a file too', async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'gantry-cli-'))
  const capabilities = { pub: { allow: ['a.>'] }, sub: { allow: [] } }
  writeFileSync(join(folder.path, 'c.json'), JSON.stringify(capabilities, null, 2))
  const keyShape = shapeOf(keys.create)
  const flag = keyShape.flags.find(({ name }) => name === 'capabilities')!
  const sources = {
    cwd: folder.path,
    terminal: { err: () => undefined },
    readStdin: () => Promise.resolve(''),
  }
  expect(await inputOf(keys.create, keyShape, new Map([[flag, '@c.json']]), sources)).toEqual({
    capabilities,
  })
})

test('a file that is missing is wrong usage, told before anybody is called', async () => {
  const { code, err } = await gantry(['keys', 'create', 'x', '--capabilities', '@/not/there'])
  expect(code).toBe(2)
  expect(err).toBe('error: --capabilities: /not/there does not exist (INVALID_INPUT)\n')
})

test('an object that is not JSON is wrong usage, and says where', async () => {
  const { code, err } = await gantry(['keys', 'create', 'x', '--capabilities', '{bad'])
  expect(code).toBe(2)
  expect(err).toMatch(/^error: --capabilities must be JSON: .*position 1.* \(INVALID_INPUT\)\n$/)
})

test('help says how to keep a secret out of the process list', async () => {
  const { out } = await gantry(['filesystems', 'create-adls2-shared-key', '--help'])
  expect(out.replaceAll(/\s+/g, ' ')).toContain(
    'or @file, or - for stdin, both hide it from the process list',
  )
})

test('paths may be the lines of a file, byte for byte', async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'gantry-cli-'))
  const bytes = Buffer.from('/a, b\n/100%\n/t\tb\n/\xff \xc3\xa9\n/é\n\n', 'latin1')
  writeFileSync(join(folder.path, 'lines'), Buffer.concat([bytes, Buffer.from('/ü\n')]))
  writeFileSync(join(folder.path, 'one'), '/a,b')
  writeFileSync(join(folder.path, 'nul'), '/line\nbreak\0/c\0')
  const paths = shapeOf(exclusions['create-paths'])
  const flag = paths.flags.find(({ name }) => name === 'paths')!
  const readPaths = (...given: string[]) =>
    inputOf(exclusions['create-paths'], paths, new Map([[flag, given]]), {
      cwd: folder.path,
      terminal: { err: () => undefined },
      readStdin: () => Promise.resolve(''),
    })
  const lines = ['/a, b', '/100%25', '/t%09b', '/%FF%20%C3%A9', '/%E9', '/ü']
  expect(await readPaths('@lines')).toEqual({ paths: lines })
  expect(await readPaths('/x', '@one')).toEqual({ paths: ['/x', '/a,b'] })
  expect(await readPaths('@one')).toEqual({ paths: ['/a,b'] })
  expect(await readPaths('@nul')).toEqual({ paths: ['/line%0Abreak', '/c'] })
  expect(await readPaths('/x')).toEqual({ paths: ['/x'] })
  writeFileSync(join(folder.path, 'empty'), '\n')
  await expect(readPaths('@empty')).rejects.toThrow(/contains no path/)
  await expect(readPaths('@nowhere')).rejects.toThrow(/nowhere.* does not exist/)
})

test.each([['foo'], [['a=1', 'foo']], [['a=1', 'a=2']], ['[1]']])(
  'a record that is not of key=value is wrong usage: %j',
  async (text) => {
    const contract = resources.observability['query_scalar_metrics']
    const metrics = shapeOf(contract)
    const labels = metrics.flags.find(({ name }) => name === 'labels')!
    const sources = { cwd: '/', terminal: { err: () => undefined }, readStdin: () => Promise.resolve('') }
    const reading = inputOf(contract, metrics, new Map([[labels, text]]), sources)
    await expect(reading).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      message: '--labels must be key=value (once per key) or a JSON object',
    })
  },
)

const hdfsShape = shapeOf(filesystems['create-hdfs'])
const hdfsField = (name: string) => hdfsShape.flags.find((one) => one.name === name)!

test('properties come from files of Hadoop, later ones over earlier ones; how many have no effect is told', async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'gantry-site-'))
  const site = (name: string, properties: Record<string, string>) => {
    const lines = Object.entries(properties).map(
      ([key, value]) =>
        `<property><name> ${key} </name><value>${value}</value><final>true</final></property>`,
    )
    writeFileSync(
      join(folder.path, name),
      `<?xml version="1.0"?><configuration>${lines.join('\n')}</configuration>`,
    )
  }
  site('core-site.xml', { 'fs.trash.interval': '60', 'hadoop.tmp.dir': '/tmp' })
  site('hdfs-site.xml', {
    'dfs.ha.namenodes.lake': 'nn1,nn2',
    'dfs.namenode.http-address.lake.nn1': 'one.example:9870',
    'dfs.namenode.name.dir': '/data',
    'dfs.replication': '3',
  })
  let told = ''
  const sources = {
    cwd: folder.path,
    terminal: { err: (text: string) => void (told += text) },
    readStdin: () => Promise.resolve(''),
  }
  const reading = (...given: string[]) =>
    inputOf(
      filesystems['create-hdfs'],
      hdfsShape,
      new Map([[hdfsField('additionalProperties'), given]]),
      sources,
    )
  expect(await reading('@core-site.xml', '@hdfs-site.xml', 'dfs.replication=2')).toEqual({
    additionalProperties: {
      'hadoop.tmp.dir': '/tmp',
      'dfs.ha.namenodes.lake': 'nn1,nn2',
      'dfs.namenode.http-address.lake.nn1': 'one.example:9870',
      'dfs.replication': '2',
    },
  })
  expect(told).toMatch(/core-site\.xml: ignored properties .*: 1\n.*hdfs-site\.xml: ignored properties .*: 1/)
  writeFileSync(join(folder.path, 'none.xml'), '<configuration/>')
  await expect(reading('@none.xml')).rejects.toThrow(
    /none\.xml is not a Hadoop configuration: it contains no Hadoop properties/,
  )
  writeFileSync(
    join(folder.path, 'bomb.xml'),
    '<!DOCTYPE c [<!ENTITY a "b">]><configuration><property>&a;</property></configuration>',
  )
  await expect(reading('@bomb.xml')).rejects.toThrow(/bomb\.xml is not a Hadoop configuration/)
})

test('a file whose bytes are wanted is given as it is, and becomes base64', async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'gantry-keytab-'))
  writeFileSync(join(folder.path, 'mover.keytab'), Buffer.from([5, 2, 0, 255, 10]))
  const given = new Map([[hdfsField('kerberosKeytab'), '@mover.keytab']])
  const sources = {
    cwd: folder.path,
    terminal: { err: () => undefined },
    readStdin: () => Promise.resolve(''),
  }
  expect(await inputOf(filesystems['create-hdfs'], hdfsShape, given, sources)).toEqual({
    kerberosKeytab: Buffer.from([5, 2, 0, 255, 10]).toString('base64'),
  })
})
