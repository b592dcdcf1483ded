import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { afterAll, expect, test } from 'vitest'
import { root } from './cli/support.ts'
import { checkFollower } from './support/follower.ts'
import { createHome, natsServerPath, startTestPlatform } from './support/platform.ts'
import { lastLine } from '../cli/up/text.ts'

const folder = mkdtempSync(join(tmpdir(), 'gantry-packages-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** npm gets hundreds of packages, from its cache where they are there. */
const npmTimeoutMs = 600_000

/** As a user has it: with the Node and the authorities of the machine, and nothing of this clone or of the npm that runs the tests. */
const env = Object.fromEntries(
  Object.entries({
    ...process.env,
    PATH: process.env['PATH']!.split(delimiter)
      .filter((entry) => !entry.includes('node_modules'))
      .join(delimiter),
  }).filter(([name]) => !/^(?:npm_|GANTRY_|NODE_(?!EXTRA_CA_CERTS$))/.test(name)),
)
const run = async (program: string, args: string[], cwd = root): Promise<string> =>
  (await promisify(execFile)(program, args, { env, cwd, timeout: npmTimeoutMs })).stdout
const install = (...args: string[]) =>
  run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error', ...args], folder)

const { name } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { name: string }
const sdk = `${dirname(name)}/sdk`

test(
  'the SDK, packed and installed: its types fit an example, which runs',
  { timeout: npmTimeoutMs },
  async () => {
    const said = await run(process.execPath, [join(root, 'packaging/sdk.ts')])
    const project = join(folder, 'project')
    mkdirSync(project)
    writeFileSync(join(project, 'package.json'), JSON.stringify({ name: 'project', type: 'module' }))
    await install('--prefix', project, said.trim())
    for (const example of ['follower.ts', 'weather.ts']) {
      const text = readFileSync(join(root, 'examples', example), 'utf8')
      expect(text).toContain("'../sdk/index.ts'")
      writeFileSync(join(project, example), text.replace("'../sdk/index.ts'", `'${sdk}'`))
    }
    writeFileSync(join(project, 'page.ts'), `export { connect } from '${sdk}/browser'\n`)
    // With the types of Node, which a project brings itself, and every check of a declaration that there is.
    cpSync(join(root, 'node_modules/@types/node'), join(project, 'node_modules/@types/node'), {
      recursive: true,
    })
    cpSync(join(root, 'node_modules/undici-types'), join(project, 'node_modules/undici-types'), {
      recursive: true,
    })
    const compilerOptions = {
      target: 'es2024',
      module: 'nodenext',
      types: ['node'],
      strict: true,
      noEmit: true,
    }
    const lib = ['es2024', 'esnext.disposable', 'dom']
    writeFileSync(
      join(project, 'tsconfig.json'),
      JSON.stringify({ compilerOptions: { ...compilerOptions, lib }, include: ['*.ts'] }),
    )
    await run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', project])
    await using platform = await startTestPlatform()
    await checkFollower(platform, { program: process.execPath, args: [join(project, 'follower.ts')] })
  },
)

test(
  'the platform, packed and installed for all: the command starts it on an empty home, and stops it in order',
  { timeout: npmTimeoutMs },
  async () => {
    const said = await run('npm', ['pack', '--json', '--pack-destination', folder])
    const [packed] = JSON.parse(said.slice(said.indexOf('[\n'))) as [
      { filename: string; files: { path: string }[] },
    ]
    const paths = packed.files.map(({ path }) => path)
    expect(paths).toContain('dist/platform/cli/gantry.js')
    expect(paths.filter((path) => !/^(?:dist\/platform|cli)\//.test(path))).toEqual([
      'LICENSE',
      'README.md',
      'package.json',
    ])
    await install('--global', '--prefix', folder, join(folder, packed.filename))

    const command = join(folder, 'bin/gantry')
    const home = await createHome({}, mkdtempSync(join(folder, 'home-')))
    const surroundings = {
      ...env,
      GANTRY_HOME: home,
      XDG_CONFIG_HOME: home,
      NATS_SERVER: await natsServerPath(),
    }
    const platform = spawn(command, ['up'], {
      env: surroundings,
      cwd: folder,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const ended = once(platform, 'exit')
    const lines: string[] = []
    let address: string | undefined
    for await (const line of createInterface(platform.stdout)) {
      lines.push(line)
      address ??= /^ {2}Gantry platform +(http:\S+)\/docs$/.exec(line)?.[1]
      if (line === lastLine) break
    }
    try {
      expect(address, lines.join('\n')).toBeDefined()
      const gantry = (...words: string[]) =>
        promisify(execFile)(command, words, { env: surroundings, cwd: folder })
      expect((await gantry('platform', 'ping')).stdout).toContain('pong')
      // Threads and the web interface are there too.
      await gantry('filesystems', 'create-local', 'here', '--role', 'source', '--fs-root', root)
      const page = await fetch(`${address}/ui/`)
      expect(page.status).toBe(200)
      expect(await page.text()).toContain('<script')
    } finally {
      platform.kill('SIGINT')
    }
    expect(await ended).toEqual([0, null])
  },
)
