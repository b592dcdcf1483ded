import { headers } from 'nats'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createContext } from '../../cli/context.ts'
import { createProgram } from '../../cli/program.ts'
import { contracts } from '../../subjects/index.ts'
import { commandNames } from '../../subjects/kit/names.ts'
import { startTestPlatform, type TestPlatform } from '../support/platform.ts'
import { bareExtension, type BareExtension } from '../support/example-extension.ts'
import { gantry, testTerminal } from './support.ts'

let platform: TestPlatform
let weather: BareExtension
beforeAll(async () => {
  platform = await startTestPlatform()
  weather = await bareExtension(platform, 'weather')
  await weather.register({ instance: 'one' })
})
afterAll(async () => {
  await weather[Symbol.asyncDispose]()
  await platform[Symbol.asyncDispose]()
})

const run = (...args: string[]) => gantry(args, { env: { GANTRY_TOKEN: platform.operatorToken } })

test('no extension can take the name of a command', () => {
  const context = createContext({ env: {}, cwd: '/', terminal: testTerminal(), readStdin: async () => '' })
  const words = createProgram(context).commands.map((command) => command.name())
  const resources = new Set(contracts.map(({ resource }) => resource))
  const own = words.filter((word) => !resources.has(word))
  expect(own.filter((word) => !(commandNames as readonly string[]).includes(word))).toEqual([])
})

test('an endpoint is a command', async () => {
  expect(await run('weather', 'forecast', '--city', 'Oslo', '--days', '3')).toEqual({
    code: 0,
    out: 'city  Oslo\ndays  3\n',
    err: '',
  })
  expect((await run('--json', 'weather', 'forecast', '--city', 'Oslo')).out).toBe('{"city":"Oslo"}\n')
})

test('its help is that of any command', async () => {
  expect((await run('weather', '--help')).out).toMatch(/forecast\s+The weather of a day/)
  const { out } = await run('weather', 'forecast', '--help')
  expect(out).toMatch(/--city <city>\s+Name of the city \(required\)/)
})

test('its fields are checked, and so is its answer', async () => {
  const wrong = await run('weather', 'forecast', '--city', 'Oslo', '--days', '99')
  expect(wrong).toMatchObject({ code: 2, out: '' })
  expect(wrong.err).toContain('--days')
  const answer = await run('weather', 'forecast', '--city', 'Oslo', '--how', 'wrong')
  expect(answer.err).toContain(
    'weather has failed: the reply does not match the output schema: city is required',
  )
  const silent = await run('weather', 'forecast', '--city', 'Oslo', '--how', 'silent')
  expect(silent.err).toContain('TIMEOUT')
})

test('whatever it answers: it has failed, and no token was refused', async () => {
  await using evil = await bareExtension(platform, 'evil')
  const refusal = headers()
  refusal.set('Nats-Service-Error', 'no')
  refusal.set('Nats-Service-Error-Code', '401')
  const endless = '['.repeat(100_000) + ']'.repeat(100_000)
  const answers = {
    text: 'not JSON',
    latin: Buffer.from('"K\u00f6ln"', 'latin1'),
    deep: endless,
    refusing: '{"code":"UNAUTHENTICATED","message":"your token is wrong"}',
    undeclared: '{"code":"IN_USE","message":"somebody has it"}',
  }
  for (const [name, answer] of Object.entries(answers))
    evil.connection.subscribe(`gantry.extensions.evil.${name}`, {
      callback: (_, message) => message.respond(answer, answer[0] === '{' ? { headers: refusal } : {}),
    })
  await evil.register({ endpoints: Object.keys(answers).map((name) => ({ name, summary: 'X' })) })
  const unreadable = 'evil has failed: the answer is not UTF-8 JSON'
  const told: Record<keyof typeof answers, string> = {
    text: unreadable,
    latin: unreadable,
    deep: 'the reply of evil is too large or too deeply nested to show: request less data',
    refusing: 'evil failed with UNAUTHENTICATED: your token is wrong',
    undeclared: 'evil failed with IN_USE: somebody has it',
  }
  for (const [name, message] of Object.entries(told)) {
    const forPeople = await run('evil', name)
    expect(forPeople).toMatchObject({ code: 1, out: '' })
    expect(forPeople.err.replace(/, request [\w-]+/, '')).toBe(`error: ${message} (INTERNAL)\n`)
    const { code, err } = await run('--json', 'evil', name)
    expect({ code, body: JSON.parse(err) }).toMatchObject({ code: 1, body: { code: 'INTERNAL', message } })
  }
})

test('is everywhere at the first look, and nowhere at the first look after it has left', async () => {
  const brief = await bareExtension(platform, 'brief')
  const path = '/api/v1/extensions/brief/forecast'
  const where = async () => {
    const [rest, openApi, asyncApi, command] = await Promise.all([
      platform.rest('platform', 'POST', path, { body: { city: 'Oslo' } }),
      platform.rest('platform', 'GET', '/api/v1/openapi.json'),
      platform.rest('platform', 'GET', '/api/v1/asyncapi.json'),
      run('brief', 'forecast', '--city', 'Oslo'),
    ])
    return {
      rest: rest.status === 200,
      openApi: path in (openApi.body as { paths: object }).paths,
      asyncApi: 'brief.forecast' in (asyncApi.body as { channels: object }).channels,
      command: command.code === 0,
    }
  }
  await brief.register({ instance: 'one' })
  expect(await where()).toEqual({ rest: true, openApi: true, asyncApi: true, command: true })
  await brief.ask('extensions.deregister', { prefix: 'brief', instance: 'one' })
  expect(await where()).toEqual({ rest: false, openApi: false, asyncApi: false, command: false })
  await brief.connection.close()
})

test('a shell completes its endpoints and their flags', async () => {
  const offered = async (...words: string[]) =>
    (await run('complete', '--', ...words)).out.split('\n').map((line) => line.split('\t')[0])
  expect(await offered('weather', '')).toContain('forecast')
  expect(await offered('weather', 'forecast', '--ci')).toContain('--city')
  expect(await offered('wether', '')).not.toContain('forecast')
})

test('a word that is neither command nor extension is unknown', async () => {
  expect((await run('wether', 'forecast')).err).toBe(
    "error: unknown command 'wether'; see gantry --help (INVALID_INPUT)\n",
  )
  const { err } = await gantry(['weather'], { env: { GANTRY_HOME: '/nowhere' } })
  expect(err).toContain("unknown command 'weather' (commands of extensions are not available:")
})

test('extensions are listed, shown and have their logs', async () => {
  expect((await run('extensions', 'list')).out).toMatch(/weather\s+Weather\s+1\.0\.0\s+local:operator\s+1/)
  expect((await run('extensions', 'show', 'weather')).out).toMatch(/forecast\s+The weather of a day/)
  expect((await run('extensions', 'logs', 'weather')).out).toMatch(
    /info\s+registered, version 1\.0\.0, 1 endpoint\s+one/,
  )
})
