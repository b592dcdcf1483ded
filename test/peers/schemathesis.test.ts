import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import pino from 'pino'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { keyIdOf } from '../../broker/identity/token.ts'
import { settings } from '../../subjects/access/settings.ts'
import { addLocal, migrate } from '../support/migrations.ts'
import { startTestPlatform, type TestPlatform } from '../support/platform.ts'
import { schemathesisTest } from '../support/python.ts'

/** For each document. Its first phase, the bounds of each field one after the other, takes some 40 s alone on two cores. */
const seconds = Number(process.env['GANTRY_SCHEMATHESIS_SECONDS'] ?? 90)
const seed = Number(process.env['GANTRY_SCHEMATHESIS_SEED'] ?? 1)
/** For loading the document, and the call under way when the time is over. */
const graceSeconds = 120

/** It takes 405 for a fault where a path with fields takes the method. */
const spared = {
  platform: ['unsupported_method'],
  // Takes what can be understood, whatever its document says of the form; a store that does not answer is a 500.
  migrator: ['unsupported_method', 'negative_data_rejection', 'not_a_server_error'],
  metadata: ['unsupported_method', 'negative_data_rejection'],
} as const

const folder = mkdtempSync(join(tmpdir(), 'gantry-schemathesis-'))
let platform: TestPlatform
beforeAll(async () => {
  // It sets the level of the log, too, and would have all of it written.
  platform = await startTestPlatform({ log: pino({ level: 'silent' }, { write: () => undefined }) })
  // Whatever it makes up stays in here.
  await platform.call(settings.put, { filesystemRoots: [folder] })
  // It finds names in lists, and uses them: without these two it could make nothing but errors.
  for (const role of ['source', 'target'] as const) {
    mkdirSync(join(folder, role))
    await addLocal(platform, role, role, join(folder, role))
  }
  writeFileSync(join(folder, 'source/file'), 'content')
  await migrate(platform, { source: 'source', target: 'target' })
})
afterAll(async () => {
  await platform?.[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

describe.each(['platform', 'migrator', 'metadata'] as const)('the OpenAPI document of the %s', (server) => {
  schemathesisTest(
    `says what the server does: schemathesis finds nothing in ${seconds} s (GANTRY_SCHEMATHESIS_SECONDS, GANTRY_SCHEMATHESIS_SEED=${seed})`,
    async (python) => {
      const args = [
        `--config-file=${fileURLToPath(new URL('schemathesis.toml', import.meta.url))}`,
        'run',
        `${platform.httpUrls[server]}/openapi.json`,
        '--checks=all',
        `--exclude-checks=${spared[server].join(',')}`,
        `--header=Authorization: Bearer ${platform.operatorToken}`,
        `--seed=${seed}`,
        `--max-time=${seconds}`,
        '--continue-on-failure',
        '--generation-database=none',
        '--no-color',
      ]
      const child = spawn(join(dirname(python), 'schemathesis'), args, {
        cwd: folder,
        stdio: ['ignore', 'pipe', 'inherit'],
        env: {
          ...process.env,
          PYTHONPATH: fileURLToPath(new URL('.', import.meta.url)),
          PYTHONDONTWRITEBYTECODE: '1',
          SCHEMATHESIS_HOOKS: 'schemathesis_hooks',
          GANTRY_OWN_KEY: keyIdOf(platform.operatorToken),
        },
      })
      const [said, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')])
      expect(code, said).toBe(0)
      // Without its key everything is refused, as it should be, and nothing is shown.
      expect((await platform.rest('platform', 'GET', '/api/v1/apikey')).status).toBe(200)
    },
    (seconds + graceSeconds) * 1_000,
  )
})
