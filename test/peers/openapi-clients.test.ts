import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { runProgram } from '../../broker/server/run-program.ts'
import { openApiPath } from '../../http-edge/documents/docs.ts'
import { title } from '../../subjects/kit/names.ts'
import { clientFor, languages } from '../support/openapi-clients.ts'
import { startTestPlatform, type TestPlatform } from '../support/platform.ts'
import { whyMissing } from '../support/provide.ts'
import { testUnless } from '../support/unless.ts'

const folder = mkdtempSync(join(tmpdir(), 'gantry-clients-'))
let platform: TestPlatform
let document: string
beforeAll(async () => {
  platform = await startTestPlatform()
  document = await (await fetch(`${platform.httpUrls.platform}${openApiPath}`)).text()
})
afterAll(async () => {
  await platform?.[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

/** What each client says of its calls, the last of which is refused. */
const outcomes = [
  'pong',
  title,
  'key',
  'local',
  'false',
  '6000000000',
  'FileSizeExclusion',
  'deleted',
  'true',
  '404 NOT_FOUND',
]

/** This ends what hangs: the generator and the compilers, all four at once, take a minute alone on two cores. */
const timeoutMs = 15 * 60_000

describe.concurrent('clients generated from the document that the platform serves', () => {
  for (const [name, { needs }] of Object.entries(languages)) {
    const missing = ['OPENAPI_GENERATOR', ...needs].map(whyMissing).find((why) => why !== undefined)
    testUnless(
      missing,
      `the one for ${name} builds, and makes ten calls`,
      async () => {
        const [program, ...args] = await clientFor(name, document)
        const said = await runProgram(program, args, {
          timeoutMs,
          env: {
            GANTRY_URL: platform.httpUrls.platform,
            GANTRY_TOKEN: platform.operatorToken,
            GANTRY_FOLDER: folder,
          },
        })
        expect(said.trim().split('\n')).toEqual(outcomes)
      },
      timeoutMs,
    )
  }
})
