import { expect, test } from 'vitest'
import { bucketEndpoint } from '../../../../services/drivers/s3a/endpoint.ts'

type Options = Parameters<typeof bucketEndpoint>[0]
const endpointOf = (
  options: Omit<Options, 'bucketName'> & { bucketName?: string },
  pathStyle = 'auto',
  region = '',
) => {
  const {
    secure,
    host,
    port,
    bucketPath,
    region: its,
  } = bucketEndpoint({ bucketName: 'data', ...options }, { region, pathStyle, isSecure: true })
  return { at: `${secure ? 'https' : 'http'}://${host}:${port}${bucketPath}`, region: its }
}

test.each([
  [{}, 'https://data.s3.us-east-1.amazonaws.com:443', 'us-east-1'],
  [{ endpoint: 's3.eu-west-1.amazonaws.com' }, 'https://data.s3.eu-west-1.amazonaws.com:443', 'eu-west-1'],
  [
    { endpoint: 's3.cn-north-1.amazonaws.com.cn' },
    'https://data.s3.cn-north-1.amazonaws.com.cn:443',
    'cn-north-1',
  ],
  [{ bucketName: 'da.ta' }, 'https://s3.us-east-1.amazonaws.com:443/da.ta', 'us-east-1'],
  [{ endpoint: 'http://minio.example:9000' }, 'http://minio.example:9000/data', 'us-east-1'],
  [{ endpoint: '127.0.0.1:9000', s3type: 'AWS' }, 'https://127.0.0.1:9000/data', 'us-east-1'],
  [{ endpoint: 'id.r2.cloudflarestorage.com' }, 'https://id.r2.cloudflarestorage.com:443/data', 'auto'],
  [
    { endpoint: 's3.eu-central-1.wasabisys.com' },
    'https://data.s3.eu-central-1.wasabisys.com:443',
    'eu-central-1',
  ],
  [
    { endpoint: 'oss-cn-hangzhou.aliyuncs.com' },
    'https://data.oss-cn-hangzhou.aliyuncs.com:443',
    'cn-hangzhou',
  ],
  [
    { endpoint: 's3.eu-de.cloud-object-storage.appdomain.cloud' },
    'https://data.s3.eu-de.cloud-object-storage.appdomain.cloud:443',
    'eu-de',
  ],
] as const)('%j is at %s', (options, at, region) => {
  expect(endpointOf(options)).toEqual({ at, region })
})

test('what was asked for goes before what is usual', () => {
  expect(endpointOf({}, 'true').at).toBe('https://s3.us-east-1.amazonaws.com:443/data')
  expect(endpointOf({ endpoint: 'store.example' }, 'false').at).toBe('https://data.store.example:443')
  expect(endpointOf({}, 'auto', 'eu-north-1').at).toBe('https://data.s3.eu-north-1.amazonaws.com:443')
})

test('in another region only the endpoint of Amazon is another host', () => {
  const at = (endpoint?: string) =>
    bucketEndpoint(
      { bucketName: 'data', ...(endpoint !== undefined && { endpoint }) },
      { region: '', pathStyle: 'auto', isSecure: true },
    ).in('eu-west-3')
  expect(at()).toMatchObject({ host: 'data.s3.eu-west-3.amazonaws.com', region: 'eu-west-3' })
  expect(at('minio.example')).toMatchObject({ host: 'minio.example', region: 'eu-west-3' })
})
