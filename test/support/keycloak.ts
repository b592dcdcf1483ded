import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runProgram } from '../../broker/server/run-program.ts'
import { freePort } from './platform.ts'
import { whyMissing } from './provide.ts'
import { testUnless } from './unless.ts'

const archive = process.env['KEYCLOAK_ARCHIVE']

export const hasKeycloak = archive !== undefined
const noKeycloak = whyMissing('KEYCLOAK_ARCHIVE')
/** A test with a real Keycloak. */
export const keycloakTest = (name: string, work: () => Promise<void>): void =>
  testUnless(noKeycloak, name, work)

const administrator = { username: 'keycloak-administrator', password: 'of-the-administrator' }
/** Unpacking 6,000 files. */
const unpackTimeoutMs = 60_000

/** A Keycloak of the test's own on loopback; gone with the scope. */
export interface Keycloak extends AsyncDisposable {
  readonly url: string
  /** Asks its admin REST API. @throws when it does not do what it is asked */
  admin(method: string, path: string, body?: unknown): Promise<unknown>
  /** The answer of a realm's token endpoint. */
  token(realm: string, fields: Record<string, string>): Promise<Record<string, unknown>>
}

export async function startKeycloak(): Promise<Keycloak> {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-keycloak-'))
  const options = ['-xzf', archive!, '-C', folder, '--strip-components=1']
  await runProgram('tar', options, { timeoutMs: unpackTimeoutMs })
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const child = spawn(
    join(folder, 'bin', 'kc.sh'),
    ['start-dev', '--http-host=127.0.0.1', `--http-port=${port}`, '--health-enabled=false'],
    {
      // It starts itself anew once it has compiled itself: all of its processes are in one group.
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        KC_BOOTSTRAP_ADMIN_USERNAME: administrator.username,
        KC_BOOTSTRAP_ADMIN_PASSWORD: administrator.password,
        JAVA_OPTS_KC_HEAP: '-Xms64m -Xmx400m',
        // It lives for a minute: the better compiler would not pay.
        JAVA_OPTS_APPEND: '-XX:TieredStopAtLevel=1',
      },
    },
  )
  const kill = () => killGroup(child)
  process.once('exit', kill)
  await listening(child)
  const token = async (realm: string, fields: Record<string, string>) => {
    const place = `${url}/realms/${realm}/protocol/openid-connect/token`
    const reply = await fetch(place, { method: 'POST', body: new URLSearchParams(fields) })
    return (await reply.json()) as Record<string, unknown>
  }
  return {
    url,
    token,
    admin: async (method, path, body) => {
      const fields = { grant_type: 'password', client_id: 'admin-cli', ...administrator }
      const { access_token: bearer } = await token('master', fields)
      const reply = await fetch(`${url}/admin/realms${path}`, {
        method,
        headers: { authorization: `Bearer ${bearer as string}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      const text = await reply.text()
      if (!reply.ok) throw new Error(`Keycloak refuses ${method} ${path}: ${reply.status} ${text}`)
      return text === '' ? undefined : JSON.parse(text)
    },
    [Symbol.asyncDispose]: async () => {
      process.off('exit', kill)
      const gone = once(child, 'exit')
      kill()
      await gone
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function killGroup({ pid }: ChildProcess): void {
  try {
    process.kill(-pid!, 'SIGKILL')
  } catch {
    // It has ended by itself.
  }
}

function listening(child: ChildProcess): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  let output = ''
  for (const stream of [child.stdout!, child.stderr!]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString()
      if (output.includes('Listening on:')) resolve()
    })
  }
  child.once('error', reject)
  child.once('exit', (code) => reject(new Error(`Keycloak ended with ${code}: ${output}`)))
  return promise
}
