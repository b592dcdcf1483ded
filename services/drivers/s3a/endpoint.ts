import { isIP } from 'node:net'
import type { FilesystemOptions } from '../../../subjects/filesystems/kinds.ts'
import type { StoreEndpoint } from '../http/transport.ts'
import { type Provider, providerOf } from './providers.ts'

/** Where the requests of one bucket go. */
export interface BucketEndpoint extends StoreEndpoint {
  readonly bucketName: string
  /** What comes before keys in the path: empty where the bucket is in the host name. */
  readonly bucketPath: string
  /** That requests are signed for, until the service says another. */
  readonly region: string
  readonly provider: Provider
  /** The same for another region, where the host name has the region in it. */
  readonly in: (region: string) => BucketEndpoint
}

const usualRegion = 'us-east-1'

/** Where the bucket of these options is. @param property `region` and `pathStyle` may be empty and `auto` */
export function bucketEndpoint(
  options: Pick<FilesystemOptions<'s3a'>, 'bucketName' | 'endpoint' | 's3type'>,
  property: { readonly region: string; readonly pathStyle: string; readonly isSecure: boolean },
): BucketEndpoint {
  const { bucketName, endpoint, s3type } = options
  const [, scheme, name = '', port] =
    /^(?:(https?):\/\/)?([^:/]+)(?::(\d+))?\/?$/.exec(endpoint?.toLowerCase() ?? '') ?? []
  const isSecure = scheme === undefined ? property.isSecure : scheme === 'https'
  const provider = providerOf(s3type, name === '' ? 's3.amazonaws.com' : name)
  const make = (region: string): BucketEndpoint => {
    const host = name === '' || isAmazon(name) ? amazonHost(name, region) : name
    const isPathStyle =
      property.pathStyle === 'auto'
        ? !provider.isVirtualHost || !fitsHost(bucketName, isSecure) || isIP(host) > 0
        : property.pathStyle === 'true'
    return {
      bucketName,
      secure: isSecure,
      host: isPathStyle ? host : `${bucketName}.${host}`,
      port: port === undefined ? (isSecure ? 443 : 80) : Number(port),
      bucketPath: isPathStyle ? `/${bucketName}` : '',
      region,
      provider,
      in: make,
    }
  }
  return make(property.region === '' ? (regionOf(name) ?? usualRegion) : property.region)
}

/** Certificates are for one label before the host, which has no dots. */
const fitsHost = (bucket: string, isSecure: boolean) =>
  /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(bucket) && !(isSecure && bucket.includes('.'))

/** Whether a host is Amazon S3's; below the same domain there are servers of its customers too. */
export const isOfAmazon = (host: string): boolean =>
  /(?:^|\.)s3(?:-[a-z-]+)?(?:\.dualstack)?(?:[.-][a-z]{2}(?:-[a-z]+)+-\d+)?(?:\.vpce)?\.amazonaws\.com(?:\.cn)?$/.test(
    host,
  )

/** That of Amazon SQS in a region. */
export const sqsHost = (region: string): string =>
  `sqs.${region}.${region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com'}`

/** Whether a host is Amazon SQS's; older queues have addresses with the region at the start. */
export const isSqsOfAmazon = (host: string): boolean => regionOfSqs(host) !== undefined

/** The region that the name of a host of Amazon SQS has in it. */
export const regionOfSqs = (host: string): string | undefined =>
  /^(?:vpce-[a-z0-9-]+\.)?sqs(?:-fips)?\.([a-z]{2}(?:-[a-z]+)+-\d+)\.(?:vpce\.)?amazonaws\.com(?:\.cn)?$/.exec(
    host,
  )?.[1] ?? /^([a-z]{2}(?:-[a-z]+)+-\d+)\.queue\.amazonaws\.com(?:\.cn)?$/.exec(host)?.[1]

/** Amazon's regional and global endpoints; private ones and those of single services are taken as they are. */
const isAmazon = (host: string) => /^s3(?:[.-][a-z0-9-]+)?\.amazonaws\.com(?:\.cn)?$/.test(host)

const amazonHost = (host: string, region: string): string =>
  region.startsWith('cn-') || host.endsWith('.cn')
    ? `s3.${region}.amazonaws.com.cn`
    : `s3.${region}.amazonaws.com`

/** The region that the name of a host has in it. */
function regionOf(host: string): string | undefined {
  const [, region] =
    /(?:^|\.)s3(?:-fips)?(?:\.dualstack)?[.-]([a-z]{2}(?:-[a-z]+)+-\d+)\.(?:vpce\.)?amazonaws\.com/.exec(
      host,
    ) ??
    /^s3[.-]([a-z0-9-]+)\.(?:wasabisys\.com|cloud-object-storage\.appdomain\.cloud)$/.exec(host) ??
    /^(?:s3\.)?oss-([a-z0-9-]+)\.aliyuncs\.com$/.exec(host) ??
    []
  if (host.endsWith('.r2.cloudflarestorage.com')) return 'auto'
  return region
}
