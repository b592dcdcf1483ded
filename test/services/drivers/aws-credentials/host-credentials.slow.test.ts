import { setTimeout as delay } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import { createBounds } from '../../../../services/drivers/contract/bounds.ts'
import { HostPermission } from '../../../../services/drivers/host-credentials/permission.ts'
import { hostCredentials } from '../../../../services/drivers/aws-credentials/host-credentials.ts'
import { HostIdentityDouble } from '../../../support/host-identity-double.ts'

test('metadata of an instance that drips in is none', async () => {
  await using double = await HostIdentityDouble.start()
  vi.stubEnv('AWS_EC2_METADATA_SERVICE_ENDPOINT', double.url)
  double.interfere = (_asked, response) => {
    response.writeHead(200)
    void (async () => {
      while (!response.destroyed) {
        response.write('x')
        await delay(500)
      }
    })()
    return true
  }
  const identities = ['instance'] as const
  const bounds = createBounds([], { roots: undefined, hosts: ['127.0.0.0/8'], hostCredentials: identities })
  const permission = new HostPermission(bounds, identities, 'credentialsProvider')
  const choice = { identities, profile: undefined, profileFile: undefined, region: 'eu-west-1' }
  await expect(hostCredentials(choice, permission).get()).rejects.toMatchObject({ failure: 'unreachable' })
  vi.unstubAllEnvs()
})
