import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import { runProgram } from '../../broker/server/run-program.ts'
import { root } from '../cli/support.ts'
import { checkFollower, followerTimeoutMs } from '../support/follower.ts'
import { startTestPlatform, type TestPlatform } from '../support/platform.ts'
import { pythonTest } from '../support/python.ts'

let platform: TestPlatform
const folder = mkdtempSync(join(tmpdir(), 'gantry-python-'))
beforeAll(async () => {
  platform = await startTestPlatform()
})
afterAll(async () => {
  await platform[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true })
})

/** pip gets what builds the package. */
const installTimeoutMs = 120_000

pythonTest(
  'the package for Python, installed by pip, and its example',
  async (program) => {
    // pip builds in the folder of the sources.
    const sources = join(folder, 'sources')
    cpSync(join(root, 'sdk/python'), sources, { recursive: true })
    const installed = join(folder, 'installed')
    await runProgram(program, ['-m', 'pip', 'install', '-q', '--no-deps', '--target', installed, sources], {
      timeoutMs: installTimeoutMs,
    })
    const example = join(folder, 'example.py')
    cpSync(join(sources, 'example.py'), example)
    await checkFollower(platform, { program, args: [example], env: { PYTHONPATH: installed } })
  },
  installTimeoutMs + followerTimeoutMs,
)
