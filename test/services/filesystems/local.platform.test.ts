import { mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { rawRequest } from '../../support/http.ts'
import { startTestPlatform, type TestPlatform } from '../../support/platform.ts'

let platform: TestPlatform
let folder: string
let root: string
beforeAll(async () => {
  platform = await startTestPlatform()
  folder = mkdtempSync(join(tmpdir(), 'gantry-local-'))
  root = join(folder, 'root')
  mkdirSync(join(root, 'inner', 'deep'), { recursive: true })
  mkdirSync(join(folder, 'outside'))
  writeFileSync(join(folder, 'outside', 'secret'), 'x')
  writeFileSync(join(root, 'file'), 'content')
})
afterAll(async () => {
  await platform[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})
beforeEach(async () => {
  await migrator('DELETE', '/fs/targets')
  await migrator('DELETE', '/fs/sources')
})

const json = { 'content-type': 'application/json' }
const migrator = (method: string, path: string, body?: unknown) =>
  rawRequest(platform, 'migrator', {
    method,
    path,
    ...(body === undefined ? {} : { headers: json, body: JSON.stringify(body) }),
  })
/** By the contract's own route, which takes nothing that it does not know. */
const native = (method: string, body: object) =>
  rawRequest(platform, 'platform', {
    method,
    path: '/api/v1/filesystems/local',
    headers: { ...json, authorization: `Bearer ${platform.operatorToken}` },
    body: JSON.stringify(body),
  })
const message = ({ body }: { body: Record<string, unknown> }) => body['message'] as string

describe('create', () => {
  test('a target and a source', async () => {
    expect(await migrator('POST', '/fs/targets/local/t', { fsRoot: root })).toMatchObject({
      status: 201,
      body: {
        fileSystemId: 't',
        fsType: 'local',
        isSource: false,
        isScanOnly: false,
        listenAndApplySourceChanges: true,
        eventsPosition: 0,
        properties: { fsRoot: root },
      },
    })
    const source = await migrator('POST', '/fs/sources/local/s', { fsRoot: root })
    expect(source.body).toEqual({
      fileSystemId: 's',
      fsType: 'local',
      isSource: true,
      isScanOnly: true,
      eventsPosition: 0,
      listenAndApplySourceChanges: null,
      properties: { fsRoot: root },
    })
    expect(((await migrator('GET', '/fs/sources')).body as unknown as unknown[]).length).toBe(1)
    expect(((await migrator('GET', '/fs/targets')).body as unknown as unknown[]).length).toBe(1)
    expect((await migrator('GET', '/fs/targets/s')).status).toBe(404)
  })

  test('the root of the host is the default, and refused with a fix: the platform is in it', async () => {
    const reply = await migrator('POST', '/fs/targets/local/t', {})
    expect(reply.status).toBe(409)
    expect(message(reply)).toMatch(/^fsRoot \/ contains the configuration folder .* choose a narrower root/)
  })

  test.each<[object, number, string]>([
    [{ fsRoot: 'relative' }, 400, 'fsRoot'],
    [{ fsRoot: '' }, 400, 'fsRoot'],
    [{ fsRoot: 7 }, 400, 'fsRoot'],
    [{ fsRoot: '/tmp/../etc' }, 400, 'fsRoot'],
    [{ fsRoot: '/tmp/%2e%2e/etc' }, 400, 'fsRoot'],
    [{ fsRoot: '/tmp/./x' }, 400, 'fsRoot'],
    [{ fsRoot: '/tmp//x' }, 400, 'fsRoot'],
    [{ fsRoot: '/tmp/\u0000' }, 400, 'fsRoot'],
    [{ fsRoot: '/tmp/%00' }, 400, 'fsRoot'],
    [{ fsRoot: '/tmp/%zz' }, 400, 'fsRoot'],
    [{ fsRoot: `/${'x'.repeat(13_000)}` }, 400, 'fsRoot'],
    [{ fsRoot: '/gantry/not/there' }, 409, '/gantry/not/there'],
    [{ fsRoot: '/etc/passwd' }, 409, '/etc/passwd'],
    [{ fsRoot: '/tmp', additionalProperties: { 'fs.x': '1' } }, 400, 'fs.x'],
    [{ root: '/tmp' }, 400, 'root'],
    [{ fsroot: '/tmp' }, 400, 'did you mean fsRoot'],
  ])('%j: %d, and nothing is stored', async (options, status, named) => {
    const reply = await native('POST', { fileSystemId: 't', role: 'target', ...options })
    expect(reply.status).toBe(status)
    expect(message(reply)).toContain(named)
    expect((await migrator('GET', '/fs/targets')).text).toBe('[]')
  })

  test('fields of the other role are refused by name', async () => {
    const target = await native('POST', { fileSystemId: 't', role: 'target', fsRoot: root, scanOnly: true })
    expect([target.status, message(target)]).toEqual([409, 'input: scanOnly is not allowed for a target'])
    const listenAndApplySourceChanges = true
    const source = await native('POST', {
      fileSystemId: 's',
      role: 'source',
      fsRoot: root,
      listenAndApplySourceChanges,
    })
    expect(source.status).toBe(409)
    expect(message(source)).toContain('listenAndApplySourceChanges')
  })
})

describe('paths', () => {
  beforeEach(() => migrator('POST', '/fs/targets/local/t', { fsRoot: root }))
  const list = (query: string) => migrator('GET', `/fs/targets/t/listPaths?${query}`)
  const paths = async (query: string) =>
    ((await list(query)).body as unknown as { path: string }[]).map(({ path }) => path)

  test('a folder’s entries, by name', async () => {
    // As text Node takes times before 1970 too.
    utimesSync(join(root, 'file'), '-1.5', '-1.5')
    expect((await list('path=/')).body).toEqual([
      { path: '/file', isDirectory: false, length: 7, modificationTime: -1_500 },
      { path: '/inner', isDirectory: true, length: 0, modificationTime: expect.any(Number) },
    ])
    expect(await paths('path=/inner/')).toEqual(['/inner/deep'])
    expect(await paths('path=/inner/deep')).toEqual([])
  })

  test.each([
    '',
    'path=',
    'path=inner',
    'path=..',
    'path=/..',
    'path=/../outside',
    'path=/inner/../../outside',
    'path=/inner/..',
    'path=/%2e%2e/outside',
    'path=/%252e%252e/outside',
    'path=/..%2foutside',
    'path=/..%252foutside',
    'path=/.',
    'path=//',
    'path=//etc',
    'path=/%00',
    'path=/%2500',
    'path=/a%2500b',
    'path=/%25',
    'path=/%25zz',
    'path=/inner&path=/..',
    'path=/&after=file',
    'path=/&after=/../x',
    `path=/${'x'.repeat(12_288)}`,
  ])('%.60s is refused by name', async (query) => {
    const reply = await list(query)
    expect(reply.status).toBe(400)
    expect(reply.body).toMatchObject({
      code: 'INVALID_INPUT',
      details: [{ field: expect.stringMatching(/^(?:path|after)$/) }],
    })
  })

  test.each(['path=/&after=/inner/deep', 'path=/&after=/'])(
    '%s: the page does not begin in that folder, and is not accepted',
    async (query) => {
      expect(await list(query)).toMatchObject({
        status: 409,
        body: { code: 'NOT_ACCEPTED', details: [{ field: 'after' }] },
      })
    },
  )

  test('what is not there, or no folder: 404', async () => {
    for (const path of ['/nothing', '/file', '/file/below'])
      expect((await list(`path=${path}`)).status, path).toBe(404)
    // No folder can have such a name; it is said why.
    expect((await list(`path=/${'x'.repeat(300)}`)).body).toMatchObject({ details: { failure: 'name' } })
    expect([404, 409]).toContain((await list(`path=/${'x/'.repeat(3_000)}x`)).status)
  })

  test('an absolute path is one below the root', async () => {
    expect((await list('path=/etc')).status).toBe(404)
    expect((await list(`path=${root}`)).status).toBe(404)
  })

  test('a symbolic link out of the root is shown and not followed', async () => {
    symlinkSync(join(folder, 'outside'), join(root, 'way-out'))
    symlinkSync('../..', join(root, 'inner', 'up'))
    symlinkSync('inner', join(root, 'way-in'))
    expect(await paths('path=/')).toContain('/way-out')
    for (const path of ['/way-out', '/inner/up', '/inner/up/outside', '/way-in/up']) {
      const reply = await list(`path=${path}`)
      expect(reply.status, path).toBe(409)
      expect(reply.body).toMatchObject({ code: 'STORE_REFUSED', details: { failure: 'permission' } })
      expect(reply.text).not.toContain('secret')
    }
    expect(await paths('path=/way-in')).toContain('/way-in/deep')
    for (const link of ['way-out', 'inner/up', 'way-in']) rmSync(join(root, link))
  })

  test('names that are odd, and what each is listed as, leads to it again', async () => {
    const odd = [
      'new\nline',
      'percent%41',
      'a+b',
      'sp ace',
      'é',
      '日本',
      '#',
      '?',
      '&',
      '"',
      "'",
      '\\',
      '\u202e',
      ' ',
      '~',
    ]
    mkdirSync(join(root, 'odd'))
    for (const name of odd) mkdirSync(join(root, 'odd', name))
    mkdirSync(Buffer.concat([Buffer.from(join(root, 'odd/')), Buffer.of(0xff, 0xfe)]))
    const listed = await paths('path=/odd')
    expect(listed).toHaveLength(odd.length + 1)
    expect(listed).toContain('/odd/new%0Aline')
    expect(listed).toContain('/odd/percent%2541')
    expect(listed).toContain('/odd/%FF%FE')
    for (const path of listed) {
      const reply = await list(`path=${encodeURIComponent(path)}`)
      expect([reply.status, reply.text], path).toEqual([200, '[]'])
    }
    rmSync(join(root, 'odd'), { recursive: true })
  })

  test('a large folder comes in pages, each once, in order', async () => {
    const large = join(root, 'large')
    mkdirSync(large)
    const names = Array.from({ length: 2_500 }, (_, index) => `f${index}`)
    for (const name of names) writeFileSync(join(large, name), '')
    const seen: string[] = []
    for (let after = ''; ;) {
      const page = await paths(`path=/large&limit=999${after}`)
      if (page.length === 0) break
      seen.push(...page)
      after = `&after=${encodeURIComponent(page.at(-1)!)}`
    }
    expect(seen).toEqual(names.map((name) => `/large/${name}`).toSorted())
    expect(await paths('path=/large')).toHaveLength(1_000)
    rmSync(large, { recursive: true })
  })
})

test('a root that has gone is not healthy, and says why', async () => {
  const gone = join(folder, 'gone')
  mkdirSync(gone)
  await migrator('POST', '/fs/targets/local/t', { fsRoot: gone })
  rmSync(gone, { recursive: true })
  expect((await migrator('GET', '/fs/health/t')).body).toMatchObject({
    fsId: 't',
    healthy: false,
    healthReason: 'INVALID_FS_ROOT',
    cause: expect.stringContaining(gone),
  })
})

test('kinds', async () => {
  const kinds = (await migrator('GET', '/fs/targets/availableFileSystems')).body as unknown as {
    fs: string
  }[]
  expect(kinds.map(({ fs }) => fs)).toEqual([
    'local',
    'adls2/shared-key',
    'adls2/oauth2',
    'adls2/sas',
    's3a',
    'hdfs',
    'gcs',
  ])
})
