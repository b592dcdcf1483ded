import { Command } from 'commander'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { formatToken, parseToken } from '../../broker/identity/token.ts'
import { callContract } from '../../cli/commands/call-contract.ts'
import { createContext } from '../../cli/context.ts'
import { exitCodes } from '../../cli/exit-codes.ts'
import { addContracts } from '../../cli/program.ts'
import { createFolder } from '../support/migrations.ts'
import { freePort, startTestPlatform, type TestPlatform } from '../support/platform.ts'
import { resources } from '../../subjects/index.ts'
import { gantry, testTerminal } from './support.ts'

let platform: TestPlatform
let folder: ReturnType<typeof createFolder<'data' | 'copy'>>
beforeAll(async () => {
  platform = await startTestPlatform()
  folder = createFolder('data', 'copy')
  writeFileSync(join(folder.data, 'a b'), 'x'.repeat(2048))
})
afterAll(async () => {
  folder[Symbol.dispose]()
  await platform[Symbol.asyncDispose]()
})

/** As somebody beside the platform types it: the token is found in the configuration folder. */
const operator = (...args: string[]) => gantry(args, { env: { GANTRY_HOME: platform.home } })

const withToken = (token: string, ...args: string[]) => gantry(args, { env: { GANTRY_TOKEN: token } })

test('a command calls the capability of its contract, and prints the reply', async () => {
  const { code, out, err } = await operator('platform', 'info', '--json')
  expect({ code, err }).toEqual({ code: 0, err: '' })
  expect(JSON.parse(out)).toEqual(await platform.call(resources.platform.info, {}))
})

test('what is wrong with a time says that it may be a time ago too', async () => {
  const { code, err } = await operator('audit', 'list', '--since', 'yesterday')
  expect(code).toBe(exitCodes.usage.status)
  expect(err).toMatch(/^error: --since must be .*, or how long ago, such as 30m, 1h or 2d \(INVALID_INPUT/)
})

test('info says what platform this is, and that it is healthy', async () => {
  const { code, out } = await operator('info')
  expect(code).toBe(0)
  expect(out).toMatch(/^Gantry +\d+\.\d+\.\d+\n/)
  expect(out).toMatch(/\nhealth +healthy\n/)
  expect(out).toContain(platform.httpUrls.migrator)
  const { out: json } = await operator('info', '--json')
  expect(JSON.parse(json)).toMatchObject({ instance: platform.instance, health: { status: 'healthy' } })
})

test('what is not there, or is there already, is told with the list of what there is', async () => {
  const metadata = ['metadata-migrations', 'create', 'm', '--source', 'none', '--target', 'other']
  const { err: missing } = await operator(...metadata, '--rule-names', 'none')
  expect(missing).toMatch(
    /^error: (?:--)?source.*there is no catalog none; see "gantry metadata-catalogs list" \(/,
  )
  const rule = ['metadata-rules', 'create', 'twice', '--database-pattern', 'a', '--table-pattern', 'b']
  const { err: noWebhook } = await operator('alerts', 'test-webhook', 'none')
  expect(noWebhook).toContain('there is no webhook none; see "gantry alerts webhooks"')
  const { err: noRule } = await operator('alerts', 'delete-rule', 'none')
  expect(noRule).toContain('there is no rule none; see "gantry alerts rules"')
  await operator(...rule)
  const { err: taken } = await operator(...rule)
  expect(taken).toMatch(/already exists; choose another name, or see "gantry metadata-rules list" \(/)
})

test('texts arrive as values: what was made is listed', async () => {
  const made = await operator(
    'filesystems',
    'create-local',
    'cli',
    '--role',
    'source',
    '--fs-root',
    folder.data,
  )
  expect(made.code).toBe(0)
  expect(made.out).toMatch(/fsRoot +\//)
  expect((await operator('filesystems', 'list-paths', 'cli', '/')).out).toMatch(
    /^path.+\n\/a(?: |%20)b +no +2\.0 KiB/,
  )
  expect((await operator('filesystems', 'delete', 'cli')).out).toBe('deleted cli\n')
  expect((await operator('filesystems', 'list')).out).toBe('none\n')
})

test('names that exist are offered where one is wanted, and not for what is being made', async () => {
  const offered = async (...words: string[]) => (await operator('complete', '--', ...words)).out
  const make = (name: string, role: string, root: string) =>
    operator('filesystems', 'create-local', name, '--role', role, '--fs-root', root)
  await make('cli-from', 'source', folder.data)
  await make('cli-to', 'target', folder.copy)
  for (const name of ['$(reboot)', 'two words', '--server=evil']) await make(name, 'target', folder.copy)
  const between = ['--source', 'cli-from', '--target', 'cli-to', '--path', '/']
  expect(await operator('migrations', 'create', '--migration-id', 'cli-first', ...between)).toMatchObject({
    code: 0,
  })
  expect(await offered('filesystems', 'get', '')).toBe('cli-from\ncli-to\n')
  expect(await offered('fs', 'rm', 'cli-t')).toBe('cli-to\n')
  expect(await offered('migrations', 'create', '--source', 'cli-f')).toBe('cli-from\n')
  expect(await offered('migrations', 'start', '')).toBe('cli-first\n')
  expect(await offered('watch', '')).toBe('cli-first\n')
  expect(await offered('verifications', 'create', '')).toBe('cli-first\n')
  expect(await offered('migrations', 'create', '--migration-id', '')).toBe('')
  expect(await offered('metadata-catalogs', 'get', '')).toBe('')
  expect(await offered('migrations', 'create', '--target', '')).toBe('cli-to\n')
  expect(await offered('path-mappings', 'create', '--source-file-system', '')).toBe('cli-from\n')
  expect(await offered('verifications', 'report', '')).toBe('cli-first\n')
  expect(await offered('bandwidth', 'set', 'migration', '')).toBe('cli-first\n')
  expect((await offered('keys', 'create', 'x', '--role', '')).split('\n')).toContain('viewer')
  expect(await offered('help', 'migrations', 'star')).toMatch(/^start\t/)
  expect((await operator('migrations', 'get', 'cli-frist')).err).toMatch(
    /^error: there is no migration cli-frist; did you mean cli-first\? Otherwise, see "gantry migrations list" \(NOT_FOUND/,
  )
  const { out, err, code } = await withToken('nonsense', 'complete', '--', 'migrations', 'start', '')
  expect({ out, err, code }).toEqual({ out: '', err: '', code: 0 })
  await operator('migrations', 'delete', 'cli-first')
  expect(await offered('filesystems', 'delete', 'cli-from', 'cli-t')).toBe('cli-to\n')
  // Several at once, up to the first that is not there.
  const { out: done, err: failed } = await operator('fs', 'rm', 'cli-from', 'cli-to', 'none', 'two words')
  expect(done).toBe('deleted cli-from\ndeleted cli-to\n')
  expect(failed).toContain('there is no filesystem none')
  await operator('filesystems', 'delete', '$(reboot)', 'two words')
  await operator('filesystems', 'delete', '--', '--server=evil')
})

test.for([
  [true, exitCodes.ok.status],
  [false, exitCodes.failed.status],
] as const)(
  'a log that is intact or not, %s, is exit code %d, and the reply is printed',
  async ([intact, code]) => {
    const env = { GANTRY_HOME: platform.home }
    for (const json of [true, false]) {
      const terminal = testTerminal()
      const context = createContext({ env, cwd: '/', terminal, readStdin: async () => '' })
      const program = new Command().option('--json')
      const answer = { intact, records: 3, fromFirst: true }
      addContracts(
        program,
        [resources.audit.verify],
        callContract(context, async () => answer),
      )
      await program.parseAsync(['audit', 'verify', ...(json ? ['--json'] : [])], { from: 'user' })
      expect(context.exitCode).toBe(code)
      if (json) expect(terminal.written.out).toBe(`${JSON.stringify(answer)}\n`)
      else expect(terminal.written.out).toMatch(intact ? /^intact +yes/ : /^intact +no/)
    }
    expect((await operator('audit', 'verify')).code).toBe(exitCodes.ok.status)
  },
)

test('input that the service refuses is named as it was typed, exit code 2', async () => {
  const { code, out, err } = await operator('filesystems', 'create-local', 'x', '--fs-root', 'relative')
  expect({ code, out }).toEqual({ code: 2, out: '' })
  expect(err).toMatch(/^error: .*--role is required.*\(INVALID_INPUT, request \w+\)\n$/)
  expect(err).toMatch(/--fs-root must/)
  const json = await operator('filesystems', 'create-local', 'x', '--fs-root', '/x', '--json')
  expect(JSON.parse(json.err)).toMatchObject({
    code: 'INVALID_INPUT',
    details: [{ field: 'role', problem: 'is required' }],
    requestId: expect.any(String) as string,
  })
})

test('a flag whose default is always refused is asked for before the call, with all others that are missing', async () => {
  for (const words of [['create-local', 'x'], ['check-local']]) {
    const { code, err } = await operator('filesystems', ...words, '--role', 'source')
    expect({ code, err }).toEqual({
      code: 2,
      err: 'error: --fs-root is required (INVALID_INPUT)\n',
    })
    expect((await operator('filesystems', ...words)).err).toMatch(
      /^error: --role is required; --fs-root is required \(INVALID_INPUT\)\n$/,
    )
  }
})

test('a field inside an object is named by its flag, too', async () => {
  const { code, err } = await operator('keys', 'create', 'x', '--capabilities', '{"pub":{"allow":["a b"]}}')
  expect(code).toBe(2)
  expect(err).toContain('--capabilities (capabilities.pub.allow[0])')
  expect(err).toContain('--capabilities (capabilities.sub) is required')
})

test('what the platform refuses is exit code 1, with the request id', async () => {
  const { code, err } = await operator('filesystems', 'get', 'nobody')
  expect(code).toBe(1)
  expect(err).toMatch(
    /^error: there is no filesystem nobody; see "gantry filesystems list" \(NOT_FOUND, request \w+\)\n$/,
  )
})

test.for([
  [['filesystms'], /unknown command 'filesystms' \(Did you mean filesystems\?\); see gantry --help/],
  [['keys', 'lst'], /unknown command 'lst' \(Did you mean one of list, ls\?\); see gantry keys --help/],
  [
    ['keys', 'get', 'k1', '--jsn'],
    /unknown option '--jsn' \(Did you mean --json\?\); see gantry keys get --help/,
  ],
  [
    ['migrations', 'rescn'],
    /unknown command 'rescn' \(Did you mean rescan\?\); see gantry migrations --help/,
  ],
  [
    ['filesystems', 'create'],
    /unknown command 'create' \(Did you mean one of create-local, .*create-gcs\?\); see gantry filesystems --help/,
  ],
  [['ls', 'keys'], /unknown command 'ls' \(Did you mean gantry keys list\?\); see gantry --help/],
  [
    ['--server', 'nats://127.0.0.1:1', 'fs', 'get', 'x', '-role', 'source'],
    /unknown option '-role' \(Did you mean --role\?\); see gantry filesystems get --help/,
  ],
  [
    ['filesystems', 'create-local', 'x', '--root', '/'],
    /unknown option '--root' \(Did you mean (?:one of )?.*--fs-root.*\); see gantry filesystems create-local --help/,
  ],
  [['keys', 'get'], /missing required argument 'id'; see gantry keys get --help/],
  [['keys', 'get', 'k1', 'k2'], /too many arguments.*; see gantry keys get --help/],
  [['filesystems', 'clear', 'both'], /'both' is not allowed for <role>: use source, target; see/],
] as const)('gantry %s is wrong usage, exit code 2', async ([args, message]) => {
  const { code, out, err } = await operator(...args)
  expect({ code, out }).toEqual({ code: 2, out: '' })
  expect(err).toMatch(message)
  expect(err.trimEnd()).not.toContain('\n')
  const json = await operator(...args, '--json')
  expect(JSON.parse(json.err)).toMatchObject({ code: 'INVALID_INPUT' })
})

test('without a token: one line that says how to get one, exit code 4', async () => {
  const { code, err } = await gantry(['info'], { cwd: folder.data })
  expect(code).toBe(4)
  expect(err).toMatch(
    /^error: no API token found: .*\.gantry\/credentials does not exist\. Start the platform with "gantry up".*\n$/,
  )
  const { err: inFile } = await gantry(['info', '--token-file', 'nope'], { cwd: folder.data })
  expect(inFile).toMatch(
    /^error: --token-file nope does not exist; give a file with an API token \(UNAUTHENTICATED\)\n$/,
  )
})

test('a token is found in a reply that was kept as JSON, such as that of agents register', async () => {
  const { out, code } = await operator('agents', 'register', 'host-7', '--json')
  expect(code).toBe(0)
  const path = join(folder.root, 'agent.json')
  writeFileSync(path, out)
  const found = await gantry(['credential', 'token', '--token-file', path])
  expect(found.out).toBe(`${(JSON.parse(out) as { token: string }).token}\n`)
})

test('--token-file goes before the variable, and that before the folder', async () => {
  const path = join(folder.root, 'token')
  writeFileSync(path, `${platform.operatorToken}\n`)
  const env = { GANTRY_TOKEN: 'nonsense', GANTRY_HOME: platform.home }
  expect((await gantry(['info'], { env })).err).toBe(
    'error: GANTRY_TOKEN does not contain a valid API token for this platform; use a complete token, as "gantry keys create" prints it, or leave it out to use that of the configuration folder (UNAUTHENTICATED)\n',
  )
  const { code, out } = await gantry(['credential', 'token', '--token-file', path], { env })
  expect({ code, out }).toEqual({ code: 0, out: `${platform.operatorToken}\n` })
  expect((await gantry(['info', '--token-file', path], { env })).code).toBe(0)
  expect((await operator('credential', 'token')).out).toBe(`${platform.operatorToken}\n`)
})

test('a token that the broker refuses is exit code 4', async () => {
  const { location, keyId } = parseToken(platform.operatorToken)!
  const { code, err } = await withToken(formatToken(location, keyId, 'wrong'), 'info')
  expect(code).toBe(4)
  expect(err).toMatch(/^error: nats:\S+ rejected the token from GANTRY_TOKEN: .+ \(UNAUTHENTICATED\)\n$/)
})

test('a key that may not do this is exit code 4', async () => {
  const { token } = await platform.call(resources.keys.create, {
    name: 'narrow',
    capabilities: { pub: { allow: [resources.platform.info.subject] }, sub: { allow: [] } },
  })
  expect((await withToken(token, 'platform', 'info')).code).toBe(0)
  const { code, err } = await withToken(token, 'keys', 'list')
  expect(code).toBe(4)
  expect(err).toMatch(
    /^error: this key may not list your API keys, or all keys as an administrator: it needs a rule for \S+keys\.list in pub\.allow \(DENIED\)\n$/,
  )
  const exceeding = [
    'keys',
    'create',
    'more',
    '--capabilities',
    '{"pub":{"allow":["$SYS.>"]},"sub":{"allow":[]}}',
  ]
  const { code: exceeds, err: why } = await operator(...exceeding)
  expect(exceeds).toBe(4)
  expect(why).toContain('EXCEEDS_ROLE')
})

test('what takes away many objects, or files, asks first; without a terminal it takes --yes', async () => {
  const asked = [
    [
      ['migrations', 'delete-all'],
      'This deletes all migrations that are not running; the copied files stay.',
    ],
    [['filesystems', 'clear', 'source'], 'This deletes every source from Gantry; the files stay.'],
    [
      ['filesystems', 'delete-path', 'nowhere', '/a b', '--recursive'],
      "This removes '/a b' from the filesystem nowhere and cannot be undone.",
    ],
  ] as const
  for (const [words, consequence] of asked) {
    const { code, err } = await operator(...words)
    expect(code).toBe(2)
    expect(err).toBe(`error: ${consequence} Add --yes to confirm. (INVALID_INPUT)\n`)
  }
  const { code, out } = await operator('migrations', 'delete-all', '--yes', '--json')
  expect({ code, out }).toEqual({ code: 0, out: '[]\n' })
})

test('a platform that is not there is exit code 3', async () => {
  const server = `nats://127.0.0.1:${await freePort()}`
  const away = (...args: string[]) => gantry(args, { env: { GANTRY_TOKEN: platform.operatorToken } })
  const { code, err } = await away('info', '--server', server)
  expect(code).toBe(3)
  expect(err).toMatch(
    /^error: nats:\S+ does not respond: start the platform with "gantry up".*\(UNAVAILABLE\)\n$/,
  )
  const json = await away('info', '--server', server, '--json')
  expect(JSON.parse(json.err)).toMatchObject({ code: 'UNAVAILABLE' })
})
