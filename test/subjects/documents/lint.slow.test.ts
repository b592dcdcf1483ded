import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { servers } from '../../../http-edge/index.ts'
import { openApiPath } from '../../../http-edge/documents/docs.ts'
import { asyncApiDocument } from '../../../subjects/documents/asyncapi.ts'
import { contracts, eventContracts } from '../../../subjects/index.ts'

const root = join(import.meta.dirname, '../../..')
const version = '0.0.0'

let folder: string
let files: string[]
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gantry-lint-'))
  const documents = [
    ...servers.map(
      ({ name, documents: its }) => [`openapi-${name}`, its[openApiPath]!({ version })] as const,
    ),
    ['asyncapi', asyncApiDocument(contracts, eventContracts, { version })] as const,
  ]
  files = documents.map(([name, document]) => {
    const file = join(folder, `${name}.json`)
    writeFileSync(file, JSON.stringify(document, null, 2))
    return file
  })
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** What a linter says when it finds something; nothing when it does not. */
async function findings(name: string, args: string[]): Promise<string> {
  const program = join(root, 'node_modules/.bin', name)
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }
  const running = promisify(execFile)(process.execPath, [program, 'lint', ...args, ...files], {
    cwd: root,
    env,
  })
  return running.then(
    () => '',
    ({ message, stdout, stderr }: Error & { stdout: string; stderr: string }) => message + stdout + stderr,
  )
}

test('Spectral finds no error and no warning, with the rules of .spectral.yaml', async () => {
  expect(await findings('spectral', ['--quiet', '--fail-severity=warn', '--ruleset=.spectral.yaml'])).toBe('')
})

test('Redocly finds no error and no warning, with the rules of redocly.yaml', async () => {
  expect(await findings('redocly', ['--config=redocly.yaml', '--format=github-actions'])).toBe('')
})
