import type { CatalogOptions } from '../../../../subjects/metadata/kinds.ts'
import type { StoreEndpoint } from '../../../drivers/http/transport.ts'

/** Where the requests of a catalog go. */
export interface GlueEndpoint extends StoreEndpoint {
  /** That requests are signed for. */
  readonly region: string
  readonly isOfAmazon: boolean
}

const usualRegion = 'us-east-1'

/** Amazon's own, also by dual stack, FIPS and private link. */
const amazon =
  /(?:^|\.)glue(?:-fips)?\.([a-z]{2}(?:-[a-z]+)+-\d+)\.(?:vpce\.)?(?:amazonaws\.com(?:\.cn)?|api\.aws)$/

export function glueEndpoint(
  options: Pick<CatalogOptions<'glue'>, 'glueEndpoint' | 'awsRegion'>,
): GlueEndpoint {
  const [, scheme = 'https', name = '', port] =
    /^(?:(https?):\/\/)?([^:/]+)(?::(\d+))?\/?$/.exec(options.glueEndpoint?.toLowerCase() ?? '') ?? []
  const region = options.awsRegion ?? amazon.exec(name)?.[1] ?? usualRegion
  const host = name === '' ? amazonHost(region) : name
  const secure = scheme === 'https'
  return {
    secure,
    host,
    port: port === undefined ? (secure ? 443 : 80) : Number(port),
    region,
    isOfAmazon: amazon.test(host),
  }
}

const amazonHost = (region: string): string =>
  `glue.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`
