import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, vi } from 'vitest'
import { createBounds } from '../../../services/drivers/contract/bounds.ts'
import { HostPermission } from '../../../services/drivers/host-credentials/permission.ts'
import { hostCredentials } from '../../../services/drivers/s3a/host-credentials.ts'
import { freePort } from '../../support/platform.ts'
import { whyMissing } from '../../support/provide.ts'
import { testUnless } from '../../support/unless.ts'
import { until } from '../../support/until.ts'

/** moto has Amazon's token service; its S3 names itself in no answer, which this driver does not take for S3. */
const missing = whyMissing('PYTHON_FOR_MOTO')
const folder = mkdtempSync(join(tmpdir(), 'gantry-moto-'))
let endpoint = ''
let end: (() => Promise<void>) | undefined
beforeAll(async () => {
  if (missing !== undefined) return
  const port = await freePort()
  endpoint = `http://127.0.0.1:${port}`
  const options = ['-m', 'moto.server', '-H', '127.0.0.1', '-p', String(port)]
  const child = spawn(process.env['PYTHON_FOR_MOTO']!, options, { stdio: 'ignore' })
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  end = async () => {
    process.off('exit', kill)
    const gone = once(child, 'exit')
    kill()
    await gone
  }
  await until('the token service answers', () =>
    fetch(endpoint).then(
      () => true,
      () => false,
    ),
  )
}, 60_000)
afterAll(async () => {
  await end?.()
  rmSync(folder, { recursive: true })
})
afterEach(() => {
  vi.unstubAllEnvs()
})

testUnless(missing, 'a web identity is exchanged for credentials of the role', async () => {
  const tokenFile = join(folder, 'token')
  writeFileSync(tokenFile, 'subject.token.of-tests')
  vi.stubEnv('AWS_ENDPOINT_URL_STS', endpoint)
  vi.stubEnv('AWS_ROLE_ARN', 'arn:aws:iam::123456789012:role/mover')
  vi.stubEnv('AWS_WEB_IDENTITY_TOKEN_FILE', tokenFile)
  const identities = ['web-identity'] as const
  const bounds = createBounds([], { roots: undefined, hosts: [], hostCredentials: identities })
  const choice = { identities, profile: undefined, profileFile: undefined, region: 'eu-west-1' }
  const permission = new HostPermission(bounds, identities, 'credentialsProvider')
  const credentials = hostCredentials(choice, permission)
  const first = await credentials.get()
  expect(first).toMatchObject({
    accessKey: expect.stringMatching(/^ASIA\w{16}$/),
    secretKey: expect.stringMatching(/^\S{40}$/),
    sessionToken: expect.stringMatching(/^\S{100,}$/),
  })
  // They are for an hour, so that nobody is asked again.
  expect(await credentials.get()).toBe(first)
})
