import type { StoreBounds } from '../contract/bounds.ts'
import { askHost, hostFailures, variable } from '../host-credentials/ask-host.ts'
import { HostPermission, ownName } from '../host-credentials/permission.ts'
import { tokenIn } from '../http/client-credentials.ts'
import { Renewed } from '../http/renewed.ts'
import type { Access, Credentials } from './tokens.ts'

const metadataHost = 'metadata.google.internal'

/** Those of the service account that the machine, or the pod, has: the metadata server gives its tokens. */
export function machineCredentials(
  { scope, recipients }: Access,
  bounds: StoreBounds | undefined,
): Credentials {
  const field = 'additionalProperties.fs.gs.auth.type'
  const permission = new HostPermission(bounds, ['instance'], field, recipients, { instance: ownName })
  const tokens = new Renewed(async () => {
    permission.use()
    const url = new URL(`http://${variable('GCE_METADATA_HOST') ?? metadataHost}`)
    url.pathname = '/computeMetadata/v1/instance/service-accounts/default/token'
    url.searchParams.set('scopes', scope.replaceAll(' ', ','))
    const what = 'metadata of the machine'
    const fix = 'run the service on Google Cloud, on a machine or in a pod with a service account'
    const answer = await askHost({ url, headers: { 'metadata-flavor': 'Google' }, what, fix })
    // Whatever else answers to the name in another network does not say so.
    const token = answer.headers['metadata-flavor'] === 'Google' ? tokenIn(answer) : undefined
    if (token === undefined) throw hostFailures(fix).failed('refused', what, 'the answer is not Google’s')
    return token
  })
  return { tokens, require: () => permission.require() }
}
