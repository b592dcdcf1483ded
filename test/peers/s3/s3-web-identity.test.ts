import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, vi } from 'vitest'
import { createBounds } from '../../../services/drivers/contract/bounds.ts'
import { HostPermission } from '../../../services/drivers/host-credentials/permission.ts'
import { hostCredentials } from '../../../services/drivers/aws-credentials/host-credentials.ts'
import { type Moto, noMoto, startMoto } from '../../support/moto.ts'
import { testUnless } from '../../support/unless.ts'

/** moto has Amazon's token service; its S3 names itself in no answer, which this driver does not take for S3. */
const missing = noMoto()
const folder = mkdtempSync(join(tmpdir(), 'gantry-moto-'))
let moto: Moto | undefined
beforeAll(async () => {
  if (missing === undefined) moto = await startMoto()
}, 60_000)
afterAll(async () => {
  await moto?.[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true })
})
afterEach(() => {
  vi.unstubAllEnvs()
})

testUnless(missing, 'a web identity is exchanged for credentials of the role', async () => {
  const tokenFile = join(folder, 'token')
  writeFileSync(tokenFile, 'subject.token.of-tests')
  vi.stubEnv('AWS_ENDPOINT_URL_STS', moto!.endpoint)
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
