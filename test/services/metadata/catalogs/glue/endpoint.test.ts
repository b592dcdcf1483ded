import { expect, test } from 'vitest'
import { glueEndpoint } from '../../../../../services/metadata/catalogs/glue/endpoint.ts'

const amazon = { secure: true, port: 443, isOfAmazon: true }

test.each([
  [{}, { ...amazon, host: 'glue.us-east-1.amazonaws.com', region: 'us-east-1' }],
  [{ awsRegion: 'eu-west-1' }, { ...amazon, host: 'glue.eu-west-1.amazonaws.com', region: 'eu-west-1' }],
  [
    { awsRegion: 'cn-north-1' },
    { ...amazon, host: 'glue.cn-north-1.amazonaws.com.cn', region: 'cn-north-1' },
  ],
  [
    { glueEndpoint: 'https://glue.eu-central-1.amazonaws.com/' },
    { ...amazon, host: 'glue.eu-central-1.amazonaws.com', region: 'eu-central-1' },
  ],
  [
    { glueEndpoint: 'vpce-1a-b.glue.us-gov-west-1.vpce.amazonaws.com' },
    { ...amazon, host: 'vpce-1a-b.glue.us-gov-west-1.vpce.amazonaws.com', region: 'us-gov-west-1' },
  ],
  [
    { glueEndpoint: 'http://moto.example:5000', awsRegion: 'eu-west-1' },
    { secure: false, host: 'moto.example', port: 5_000, region: 'eu-west-1', isOfAmazon: false },
  ],
  // Whoever has such a name is not Amazon.
  [
    { glueEndpoint: 'glue.eu-west-1.amazonaws.com.example' },
    { ...amazon, isOfAmazon: false, host: 'glue.eu-west-1.amazonaws.com.example', region: 'us-east-1' },
  ],
])('%j is at %j', (options, endpoint) => {
  expect(glueEndpoint(options)).toEqual(endpoint)
})
