import { createServer, request as forward } from 'node:http'
import { expect, test } from 'vitest'
import { blobEndpoint } from '../../../../services/drivers/azure-blob/endpoint.ts'
import { GantryError } from '../../../../subjects/kit/errors.ts'
import { azuriteOptions, openClient } from '../../../support/azure-driver.ts'
import { startAzurite } from '../../../support/azurite.ts'
import { listenOnLoopback } from '../../../support/loopback.ts'

const account = 'lake'
const azure = (host: string, port = 443) => ({ secure: true, host, port, containerPath: '/data' })
const other = (host: string, port = 443) => ({ secure: true, host, port, containerPath: '/lake/data' })

test.each([
  [undefined, azure('lake.blob.core.windows.net')],
  ['dfs.core.windows.net', azure('lake.blob.core.windows.net')],
  ['blob.core.windows.net', azure('lake.blob.core.windows.net')],
  ['DFS.Core.Windows.Net', azure('lake.blob.core.windows.net')],
  ['lake.dfs.core.windows.net', azure('lake.blob.core.windows.net')],
  ['lake.blob.core.windows.net', azure('lake.blob.core.windows.net')],
  ['lake.blob.core.windows.net.', azure('lake.blob.core.windows.net')],
  ['lake.blob.core.windows.net:8443', azure('lake.blob.core.windows.net', 8_443)],
  ['lake.privatelink.dfs.core.windows.net', azure('lake.privatelink.blob.core.windows.net')],
  ['dfs.core.chinacloudapi.cn', azure('lake.blob.core.chinacloudapi.cn')],
  ['lake.dfs.core.usgovcloudapi.net', azure('lake.blob.core.usgovcloudapi.net')],
  ['z12.dfs.storage.azure.net', azure('lake.z12.blob.storage.azure.net')],
  ['lake.z12.dfs.storage.azure.net', azure('lake.z12.blob.storage.azure.net')],
  ['lake.blob.local.azurestack.external', azure('lake.blob.local.azurestack.external')],
  ['lake.dfs.local.azurestack.external', azure('lake.blob.local.azurestack.external')],
  ['127.0.0.1:10000', other('127.0.0.1', 10_000)],
  ['localhost:10000', other('localhost', 10_000)],
  ['azurite', other('azurite')],
  ['core.windows.net.example.org', other('core.windows.net.example.org')],
])('endpoint %s', (endpoint, expected) => {
  const options = {
    accountName: account,
    containerName: 'data',
    ...(endpoint === undefined ? {} : { endpoint }),
  }
  expect(blobEndpoint(options)).toEqual(expected)
})

test.each([
  'other.dfs.core.windows.net',
  'lake.queue.core.windows.net',
  'core.windows.net.core.windows.net',
  'lake.extra.dfs.core.windows.net',
])('endpoint %s is refused by the field’s name', (endpoint) => {
  const attempt = () => blobEndpoint({ accountName: account, containerName: 'data', endpoint })
  expect(attempt).toThrow(GantryError)
  expect(attempt).toThrow(/endpoint .* is not the storage endpoint of account lake/)
})

test('insecure is plain HTTP, on its own port', () => {
  const options = { accountName: account, containerName: 'data', insecure: true }
  expect(blobEndpoint(options)).toMatchObject({ secure: false, port: 80 })
  expect(blobEndpoint({ ...options, endpoint: 'x:81' })).toMatchObject({ secure: false, port: 81 })
})

test('a signature with the account in the host name is taken', async () => {
  await using azurite = await startAzurite()
  await azurite.createContainer('data')
  const [hostname, port] = azurite.endpoint.split(':')
  // A gateway that calls Azurite by such a name, which no test machine resolves.
  await using gateway = await listenOnLoopback(
    createServer((incoming, outgoing) => {
      const headers = { ...incoming.headers, host: `${azurite.account}.blob.example:${port}` }
      const { method, url: path } = incoming
      const onward = forward({ hostname, port, method, path, headers }, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 0, answer.headers)
        answer.pipe(outgoing)
      })
      incoming.pipe(onward)
    }),
  )
  const options = azuriteOptions(azurite, 'data')
  using client = openClient(
    { secure: false, host: '127.0.0.1', port: gateway.port, containerPath: '/data' },
    options,
  )
  const blob = "some folder/it's 100% ünï?&.txt"
  const store = { 'x-ms-blob-type': 'BlockBlob' }
  await client.request({ method: 'PUT', blob, body: Buffer.from('x'), store, what: () => 'put' })
  const list = { comp: 'list', prefix: 'some folder/', restype: 'container' }
  const answer = await client.request({ method: 'GET', query: list, what: () => 'list' })
  expect(answer.body.toString()).toContain("some folder/it's 100% ünï?&amp;.txt")
})
