import {
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { DockerComposeEnvironment, type StartedDockerComposeEnvironment, Wait } from 'testcontainers'
import { afterAll, beforeAll, expect } from 'vitest'
import { runProgram } from '../../../broker/server/run-program.ts'
import { portKeyOf, portNames, variableOf } from '../../../config/port-settings.ts'
import { signInPortVariable } from '../../../config/reach.ts'
import type { Verification } from '../../../subjects/migrations/verifications.ts'
import { loopback } from '../../../subjects/kit/names.ts'
import { importBaseImage } from '../../support/base-image.ts'
import { freePort } from '../../support/platform.ts'
import { whyMissing } from '../../support/provide.ts'
import { until } from '../../support/until.ts'
import { testUnless } from '../../support/unless.ts'

const root = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))))
const why = whyMissing('DOCKER_FOR_PEERS') ?? whyMissing('DOCKER_COMPOSE')
const baseImage = 'gantry-test-base:1'
const image = 'gantry-test:1'
const project = 'gantry-test'
/** Whom the compose file runs as. */
const user = 1000
/** Packages are fetched, the web interface is built and the platform is started once: a minute and a half on two cores. */
const buildTimeoutMs = 15 * 60_000
const timeoutMs = 5 * 60_000

const folder = mkdtempSync(join(tmpdir(), 'gantry-containers-'))
const [source, target] = ['source', 'target'].map((name) => join(folder, name)) as [string, string]
const environment: Record<string, string> = {
  GANTRY_IMAGE: image,
  GANTRY_SOURCE: source,
  GANTRY_TARGET: target,
}

const docker = (...args: string[]): Promise<string> => runProgram('docker', args, { timeoutMs })
const portOf = (name: (typeof portNames)[number]): string => environment[variableOf(portKeyOf(name))]!

let compose: StartedDockerComposeEnvironment | undefined

async function up(): Promise<string> {
  compose = await new DockerComposeEnvironment(root, 'docker-compose.yml')
    .withProjectName(project)
    .withEnvironment(environment)
    .withWaitStrategy('gantry-1', Wait.forHealthCheck())
    .withStartupTimeout(timeoutMs)
    .up(['gantry'])
  return compose.getContainer('gantry-1').getId()
}

/** The command line in the container. */
async function gantry(...args: string[]): Promise<{ code: number; out: string }> {
  const { exitCode, output } = await compose!.getContainer('gantry-1').exec(['gantry', ...args])
  return { code: exitCode, out: output }
}

beforeAll(async () => {
  if (why !== undefined) return
  process.env['DOCKER_HOST'] = process.env['DOCKER_FOR_PEERS']!
  // It would be pulled.
  process.env['TESTCONTAINERS_RYUK_DISABLED'] = 'true'
  process.env['DOCKER_CONFIG'] = folder
  mkdirSync(join(folder, 'cli-plugins'))
  symlinkSync(process.env['DOCKER_COMPOSE']!, join(folder, 'cli-plugins/docker-compose'))
  for (const name of portNames) environment[variableOf(portKeyOf(name))] = String(await freePort())
  environment[signInPortVariable] = String(await freePort())
  mkdirSync(join(source, 'below'), { recursive: true })
  mkdirSync(target)
  chownSync(target, user, user)
  writeFileSync(join(source, 'one.txt'), 'one')
  writeFileSync(join(source, 'below/two.txt'), 'two')
  await importBaseImage(baseImage, {})
  await runProgram(
    'docker',
    // No other builder is there, and packages come from where this host has them.
    ['build', '--network', 'host', '--build-arg', `BASE=${baseImage}`, '--tag', image, root],
    { timeoutMs: buildTimeoutMs, env: { DOCKER_BUILDKIT: '0' } },
  )
}, buildTimeoutMs)

afterAll(async () => {
  await compose?.down({ removeVolumes: true })
  rmSync(folder, { recursive: true, force: true })
}, timeoutMs)

testUnless(
  why,
  'the image runs as the compose file has it: it migrates and verifies a folder, stops in order, and goes on in a new container',
  async () => {
    const id = await up()
    const [about] = JSON.parse(await docker('inspect', id)) as [
      {
        Config: { User: string }
        HostConfig: { ReadonlyRootfs: boolean }
        State: { Health: { Status: string } }
      },
    ]
    expect(about).toMatchObject({
      Config: { User: `${user}:${user}` },
      HostConfig: { ReadonlyRootfs: true },
      State: { Health: { Status: 'healthy' } },
    })

    expect(await gantry('copy', '/source', '/target')).toMatchObject({ code: 0 })
    expect(readdirSync(target, { recursive: true }).map(String).toSorted()).toEqual([
      'below',
      'below/two.txt',
      'one.txt',
    ])
    expect(readFileSync(join(target, 'below/two.txt'), 'utf8')).toBe('two')

    // From outside, with the token from inside.
    const token = (await gantry('credential', 'token')).out.trim()
    const url = `http://${loopback}:${portOf('platform')}`
    const ask = async <T>(path: string, body?: object): Promise<T> => {
      const response = await fetch(`${url}${path}`, {
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
      })
      return (await response.json()) as T
    }
    const [{ migrationId }] = await ask<[Verification]>('/api/v1/verifications')
    const path = `/api/v1/verifications/${(await ask<Verification>('/api/v1/verifications', { migrationId, level: 'digest' })).id}`
    const isComplete = async () => (await ask<Verification>(path)).status === 'COMPLETE'
    await until('the copy is verified from outside', isComplete)
    const verified = await ask<Verification>(path)
    expect(verified).toMatchObject({ level: 'digest', filesOnSource: 2, filesOnTarget: 2 })
    // The migrator trusts its own host without credentials, and that is the container.
    expect((await fetch(`http://${loopback}:${portOf('migrator')}/migrations`)).status).toBe(401)

    // People sign in with a browser on the container's host.
    const login = await fetch(`${url}/login`, { redirect: 'manual' })
    const issuer = `http://${loopback}:${environment[signInPortVariable]}`
    expect(login.headers.get('location')).toMatch(new RegExp(`^${issuer}/auth\\?`))
    expect((await fetch(`${issuer}/.well-known/openid-configuration`)).status).toBe(200)
    expect((await fetch(`${url}/ui/`)).status).toBe(200)
    expect(await docker('logs', id)).toMatch(/shown only once:\n +administrator +\S{16}\n/)
    expect((await gantry('credential', 'reset-password', 'administrator')).out).toMatch(/\S{16}/)

    await docker('stop', '-t', '60', id)
    expect(await docker('inspect', '--format', '{{.State.ExitCode}}', id)).toBe('0\n')
    expect(await docker('logs', '--tail', '1', id)).toBe('Stopped.\n')

    await compose!.down({ removeVolumes: false })
    expect(await up()).not.toBe(id)
    expect(await ask(path)).toEqual(verified)
  },
  timeoutMs,
)

testUnless(why, 'the profile of Prometheus and Grafana is one that compose can run', async () => {
  const args = ['compose', '--file', join(root, 'docker-compose.yml'), '--profile', 'observability', 'config']
  const text = await runProgram('docker', [...args, '--services'], { timeoutMs, env: environment })
  expect(text.trim().split('\n').toSorted()).toEqual(['gantry', 'grafana', 'prometheus'])
})
