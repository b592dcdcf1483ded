import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type RequestListener, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { debianArchives, parseDeb822, parseOneLine } from '../../../broker/server/apt-sources.ts'
import { cacheFolder, findNatsServer, type FindOptions } from '../../../broker/server/nats-server.ts'
import { archiveName, type Release } from '../../../broker/server/release.ts'

// The stand-ins for versions of nats-server are shell scripts: real executables that print a version.

let home: string
let lines: string[]
let servers: Server[]

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'gantry-nats-server-'))
  lines = []
  servers = []
})

afterEach(() => {
  for (const server of servers) server.close().closeAllConnections()
  rmSync(home, { recursive: true })
})

const log = {
  info: (_: object, message: string): void => void lines.push(message),
  warn: (_: object, message: string): void => void lines.push(message),
}

/** Finds in an environment with nothing in it but what `env` says, on a system that isn't Debian. */
const find = (options: Partial<FindOptions> = {}) =>
  findNatsServer({ env: {}, cacheDir: join(home, 'cache'), etc: join(home, 'etc'), log, ...options })

function standIn(path: string, version: string): string {
  mkdirSync(dirname(join(home, path)), { recursive: true })
  writeFileSync(join(home, path), `#!/bin/sh\necho 'nats-server: v${version}'\n`)
  chmodSync(join(home, path), 0o755)
  return join(home, path)
}

/** A release whose archive has a stand-in of that version, served as `answer` says. */
async function release(version: string, answer: (archive: Buffer) => RequestListener): Promise<Release> {
  const archive = archiveName(version)
  const folder = archive.replace(/\.tar\.gz$/, '')
  standIn(`release/${folder}/nats-server`, version)
  execFileSync('tar', ['-czf', archive, folder], { cwd: join(home, 'release') })
  const body = readFileSync(join(home, 'release', archive))
  const address = await serve(answer(body))
  return { version, address, digests: { [archive]: sha256(body) } }
}

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  servers.push(server)
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the server has no port')
  return `http://127.0.0.1:${address.port}`
}

const sha256 = (data: Buffer | string): string => createHash('sha256').update(data).digest('hex')

const whole =
  (body: Buffer): RequestListener =>
  (_, response) =>
    void response.end(body)

const installed = (): string[] => readdirSync(join(home, 'cache', 'nats-server'))

describe('order of preference', () => {
  test('NATS_SERVER, then PATH, then the newest of the cache folder', async () => {
    const own = standIn('own/server', '2.12.0')
    const onPath = standIn('bin/nats-server', '2.13.1')
    standIn('cache/nats-server/2.9.99/nats-server', '2.9.99')
    standIn('cache/nats-server/2.14.2/nats-server', '2.14.2')
    const newest = standIn('cache/nats-server/2.14.10/nats-server', '2.14.10')
    const PATH = [join(home, 'empty'), dirname(onPath)].join(delimiter)

    expect(await find({ env: { NATS_SERVER: own, PATH } })).toEqual({
      path: own,
      version: '2.12.0',
      source: 'NATS_SERVER',
      passedOver: [],
    })
    expect(await find({ env: { PATH } })).toMatchObject({ path: onPath, version: '2.13.1', source: 'PATH' })
    expect(await find()).toMatchObject({ path: newest, version: '2.14.10', source: 'cache' })
    expect(lines).toEqual([
      `Using nats-server 2.12.0 from $NATS_SERVER: ${own}`,
      `Using nats-server 2.13.1 from PATH: ${onPath}`,
      `Using nats-server 2.14.10 from the cache folder: ${newest}`,
    ])
  })

  test('what is too old or no nats-server is passed over, with the reason in the log', async () => {
    const missing = join(home, 'missing')
    const old = standIn('old/nats-server', '2.9.10')
    const other = join(home, 'other', 'nats-server')
    mkdirSync(dirname(other))
    writeFileSync(other, '#!/bin/sh\necho hello\n', { mode: 0o755 })
    const good = standIn('good/nats-server', '2.15.1')
    const PATH = [old, other, good].map(dirname).join(delimiter)

    const found = await find({ env: { NATS_SERVER: missing, PATH } })
    expect(found).toMatchObject({ path: good, source: 'PATH' })
    expect(found.passedOver).toEqual([
      { source: 'NATS_SERVER', path: missing, reason: 'does not exist' },
      { source: 'PATH', path: old, reason: 'is 2.9.10, older than 2.12.0' },
      { source: 'PATH', path: other, reason: 'is not nats-server: it does not print a version' },
    ])
    expect(lines[0]).toBe(`Skipping nats-server from $NATS_SERVER: ${missing} does not exist`)
    expect(lines[1]).toBe(`Skipping nats-server from PATH: ${old} is 2.9.10, older than 2.12.0`)
  })

  test('the cache folder is the one of GANTRY_CACHE, then of XDG_CACHE_HOME', () => {
    expect(cacheFolder({ GANTRY_CACHE: '/c', XDG_CACHE_HOME: '/x' })).toBe('/c')
    expect(cacheFolder({ XDG_CACHE_HOME: '/x' })).toBe(join('/x', 'gantry'))
    expect(cacheFolder({})).toMatch(/\.cache.gantry$/)
  })
})

describe('official release', () => {
  test('is downloaded, checked and kept; the next time it comes from the cache folder', async () => {
    const known = await release('2.14.7', whole)
    const path = join(home, 'cache', 'nats-server', '2.14.7', 'nats-server')
    expect(await find({ release: known })).toEqual({
      path,
      version: '2.14.7',
      source: 'installed',
      passedOver: [],
    })
    expect(installed()).toEqual(['2.14.7'])
    expect(lines.at(-1)).toBe(`nats-server 2.14.7 is installed from the release archive: ${path}`)
    expect(await find({ release: known })).toMatchObject({ path, source: 'cache' })
  })

  test('with another digest is refused and leaves nothing', async () => {
    const wrong = await release('2.14.7', () => whole(Buffer.from('something else')))
    await expect(find({ release: wrong })).rejects.toThrow(
      `was rejected: its SHA-256 is ${sha256('something else')}, not ${Object.values(wrong.digests)[0]}`,
    )
    expect(installed()).toEqual([])
  })

  test('for a platform without a pinned digest is checked by the pinned manifest', async () => {
    const archive = archiveName('2.14.7')
    let manifest = ''
    const { digests, ...known } = await release('2.14.7', (body) => (request, response) => {
      response.end(request.url === '/SHA256SUMS' ? manifest : body)
    })
    manifest = `${sha256('other')}  nats-server-v2.14.7-plan9-amd64.tar.gz\n${digests[archive]}  ${archive}\n`
    const pinned = { ...known, digests: { SHA256SUMS: sha256(manifest) } }
    expect(await find({ release: pinned })).toMatchObject({ version: '2.14.7', source: 'installed' })
    rmSync(join(home, 'cache'), { recursive: true })
    await expect(find({ release: { ...known, digests: { SHA256SUMS: sha256('') } } })).rejects.toThrow(
      'was rejected',
    )
  })

  test('that is too old is not kept', async () => {
    const old = await release('2.11.9', whole)
    await expect(find({ release: old })).rejects.toThrow('release archive: it is 2.11.9, older than 2.12.0')
    expect(installed()).toEqual([])
  })

  test('from a server that never answers, stops half way, or trickles on, is given up', async () => {
    const silent = await release('2.14.7', () => () => undefined)
    await expect(find({ release: silent, quietMs: 50 })).rejects.toThrow('no data received for 0.05 s')
    const half = await release('2.14.7', (body) => (_, response) => void response.write(body.subarray(0, 10)))
    await expect(find({ release: half, quietMs: 50 })).rejects.toThrow('no data received for 0.05 s')
    const trickle = await release('2.14.7', () => (_, response) => {
      const timer = setInterval(() => response.write('.'), 5)
      response.on('close', () => clearInterval(timer))
    })
    await expect(find({ release: trickle, overallMs: 100 })).rejects.toThrow('not finished after 0.1 s')
    expect(installed()).toEqual([])
  })

  test('when there is nothing at all, one line says what was tried and what helps', async () => {
    const old = standIn('old/nats-server', '2.9.10')
    const gone = await release('2.14.7', () => (_, response) => void response.writeHead(404).end())
    const url = `${gone.address}/${archiveName('2.14.7')}`
    await expect(find({ env: { PATH: dirname(old) }, release: gone })).rejects.toThrow(
      `no usable nats-server was found, and none could be installed (${old} is 2.9.10, older than 2.12.0; ` +
        `release archive: cannot download ${url}: the server returned HTTP 404; ` +
        `Debian package: this system does not use Debian's archive): ` +
        `install nats-server 2.12.0 or newer on PATH, or set NATS_SERVER to its path`,
    )
  })

  test('is named in the words of the project', () => {
    expect(archiveName('2.14.5', 'linux', 'x64')).toBe('nats-server-v2.14.5-linux-amd64.tar.gz')
    expect(archiveName('2.14.5', 'darwin', 'arm64')).toBe('nats-server-v2.14.5-darwin-arm64.tar.gz')
    expect(archiveName('2.14.5', 'win32', 'x64')).toBe('nats-server-v2.14.5-windows-amd64.zip')
  })
})

describe('installation for real', () => {
  test('twice at once into an empty cache folder: both have the one that runs', async () => {
    const env = { PATH: join(home, 'empty') }
    const found = await Promise.all([find({ env, etc: '/etc' }), find({ env, etc: '/etc' })])
    const [{ path, version }] = found
    expect(found).toMatchObject([{ source: 'installed' }, { source: 'installed', path, version }])
    expect(installed()).toEqual([version])
    expect(execFileSync(path, ['--help'], { encoding: 'utf8' })).toContain('--jetstream')
    expect(await find({ env })).toMatchObject({ path, version, source: 'cache' })
  }, 300_000)

  test('what a killed installation left is removed, what a running one has is not', async () => {
    const folder = join(home, 'cache', 'nats-server')
    for (const name of ['.installing-old', '.installing-new'])
      mkdirSync(join(folder, name), { recursive: true })
    const twoHoursAgo = Date.now() / 1000 - 7_200
    utimesSync(join(folder, '.installing-old'), twoHoursAgo, twoHoursAgo)
    await find({ release: await release('2.14.7', whole) })
    expect(installed()).toEqual(['.installing-new', '2.14.7'])
  })
})

describe('Debian archives in the sources of apt', () => {
  const keyring = '/usr/share/keyrings/debian-archive-keyring.gpg'

  test('one-line format', () => {
    const text = `
# deb http://mirror.example/debian bookworm main
deb-src http://mirror.example/debian bookworm main
deb http://mirror.example/debian bookworm main contrib # the archive
deb [arch=amd64 signed-by=${keyring}] https://own.example/stuff/ bookworm main
deb cdrom:[Debian 12]/ bookworm main
`
    expect(parseOneLine(text).slice(0, 2)).toEqual([
      { uri: 'http://mirror.example/debian', suite: 'bookworm', components: ['main', 'contrib'] },
      { uri: 'https://own.example/stuff/', suite: 'bookworm', components: ['main'], signedBy: keyring },
    ])
    const archives = debianArchives(parseOneLine(text), 'bookworm').map(({ uri }) => uri)
    expect(archives).toEqual(['http://mirror.example/debian', 'https://own.example/stuff/'])
  })

  test('deb822 format, with comments, several suites, a key block and a stanza that is off', () => {
    const text = `Types: deb deb-src
# An older address was http://old.example/debian
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: ${keyring}

Types: deb
URIs: mirror+file:/etc/apt/mirrors/debian.list
Suites: bookworm
Components:
 main
 contrib
signed-by:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 abc
 -----END PGP PUBLIC KEY BLOCK-----

Enabled: no
Types: deb
URIs: http://off.example/debian
Suites: bookworm
Components: main
`
    const sources = parseDeb822(text)
    expect(sources.map(({ uri, suite }) => [uri, suite])).toEqual([
      ['http://mirror.example/debian', 'bookworm'],
      ['http://mirror.example/debian', 'bookworm-updates'],
      ['mirror+file:/etc/apt/mirrors/debian.list', 'bookworm'],
    ])
    expect(sources[2]).toMatchObject({ components: ['main', 'contrib'] })
    expect(sources[2]?.signedBy?.split('\n').slice(1, 4)).toEqual([
      ' -----BEGIN PGP PUBLIC KEY BLOCK-----',
      ' .',
      ' abc',
    ])
    expect(debianArchives(sources, 'bookworm')).toEqual([sources[0], sources[2]])
    expect(debianArchives(sources, 'trixie')).toEqual([])
  })

  test('other vendors are left out, although they use the same suites', () => {
    const text = `
deb [signed-by=/usr/share/keyrings/vendor.gpg] https://vendor.example/debian bookworm main
deb https://vendor.example/repos/tool bookworm main
deb https://vendor.example/linux/debian bookworm stable
deb http://mirror.example/debian-security bookworm-security main
deb http://mirror.example/debian bookworm main
deb http://mirror.example/debian bookworm main
`
    expect(debianArchives(parseOneLine(text), 'bookworm')).toEqual([
      { uri: 'http://mirror.example/debian', suite: 'bookworm', components: ['main'] },
    ])
  })

  test('a Debian without such an archive says so', async () => {
    mkdirSync(join(home, 'etc', 'apt', 'sources.list.d'), { recursive: true })
    writeFileSync(join(home, 'etc', 'os-release'), 'ID=debian\nVERSION_CODENAME=bookworm\n')
    const source = 'Types: deb\nURIs: https://vendor.example/\nSuites: bookworm\nComponents: main\n'
    writeFileSync(join(home, 'etc', 'apt', 'sources.list.d', 'vendor.sources'), source)
    const gone = await release('2.14.7', () => (_, response) => void response.writeHead(404).end())
    await expect(find({ release: gone })).rejects.toThrow('has no Debian archive with suite bookworm')
    expect(existsSync(join(home, 'cache', 'nats-server', '2.14.7'))).toBe(false)
  })
})
