import { expect, test } from 'vitest'
import { createBounds } from '../../../../services/drivers/contract/bounds.ts'
import { bucketEndpoint } from '../../../../services/drivers/s3a/endpoint.ts'
import { queueAddress } from '../../../../services/drivers/s3a/queue-address.ts'
import { S3Driver } from '../../../../services/drivers/s3a/s3a.ts'
import type { FilesystemOptions } from '../../../../subjects/filesystems/kinds.ts'

type Options = Partial<FilesystemOptions<'s3a'>>
const bucketAt = (options: Options) =>
  bucketEndpoint({ bucketName: 'data', ...options }, { region: '', pathStyle: 'auto', isSecure: true })
const addressOf = (options: Options) => queueAddress(options, bucketAt(options))

const account = '123456789012'
const london = 'sqs.eu-west-2.amazonaws.com'

test.each([
  [
    { sqsQueue: 'changes' },
    { name: 'changes', region: 'us-east-1' },
    'https://sqs.us-east-1.amazonaws.com:443',
    true,
  ],
  [
    { sqsQueue: 'changes', endpoint: 's3.eu-west-2.amazonaws.com' },
    { name: 'changes', region: 'eu-west-2' },
    `https://${london}:443`,
    true,
  ],
  [
    { sqsQueue: `arn:aws:sqs:eu-west-2:${account}:changes` },
    { name: 'changes', account, region: 'eu-west-2' },
    `https://${london}:443`,
    true,
  ],
  [
    { sqsQueue: `arn:aws-cn:sqs:cn-north-1:${account}:changes` },
    { account, region: 'cn-north-1' },
    'https://sqs.cn-north-1.amazonaws.com.cn:443',
    true,
  ],
  [
    { sqsQueue: `https://${london}/${account}/changes` },
    { name: 'changes', url: `https://${london}/${account}/changes`, region: 'eu-west-2', field: 'sqsQueue' },
    `https://${london}:443`,
    true,
  ],
  [
    { sqsQueue: 'http://127.0.0.1:9324/000000000000/changes', endpoint: 'http://127.0.0.1:9000' },
    { name: 'changes', region: 'us-east-1', field: 'sqsQueue' },
    'http://127.0.0.1:9324',
    false,
  ],
  [
    { sqsQueue: 'changes', sqsEndpoint: 'http://sqs.example:9324/', endpoint: 'minio.example' },
    { name: 'changes', field: 'sqsEndpoint' },
    'http://sqs.example:9324',
    false,
  ],
  [
    { sqsQueue: 'changes', sqsEndpoint: 'sqs.us-east-1.amazonaws.com.example' },
    { name: 'changes' },
    'https://sqs.us-east-1.amazonaws.com.example:443',
    false,
  ],
])('%j is found', (options, address, place, isOfAmazon) => {
  const found = addressOf(options)
  expect(found).toMatchObject({ ...address, isOfAmazon })
  const { secure, host, port } = found!.endpoint
  expect(`${secure ? 'https' : 'http'}://${host}:${port}`).toBe(place)
})

const keys = { bucketName: 'data', accessKey: 'key', secretKey: 'top/secret' }

test.each([
  [{ ...keys, sqsQueue: 'changes', cleanUpSqsQueue: true }, /cleanUpSqsQueue must be false.*deletes none/],
  [{ ...keys, sqsEndpoint: 'sqs.example' }, /sqsEndpoint is for sqsQueue/],
  [{ ...keys, sqsQueue: 'changes', endpoint: 'minio.example' }, /sqsEndpoint is missing.*minio\.example/],
  [
    { bucketName: 'data', credentialsProvider: 'AnonymousAWSCredentialsProvider', sqsQueue: 'changes' },
    /sqsQueue needs credentials/,
  ],
])('%j is refused by name, and no secret is repeated', (options, message) => {
  expect(() => new S3Driver(options)).toThrow(message)
  expect(() => new S3Driver(options)).not.toThrow(/top\/secret/)
})

test('an inner address of a queue must be in storeHosts, by the option that has it', async () => {
  const url = `http://127.0.0.1:9324/${account}/changes`
  const opened = (options: Options, hosts: readonly string[]) => {
    const driver = new S3Driver({ ...keys, ...options }, createBounds([], { roots: undefined, hosts }))
    driver.requirePlace()
    return driver
  }
  expect(() => opened({ sqsQueue: url }, [])).toThrow(/sqsQueue .*storeHosts/)
  expect(() => opened({ sqsQueue: 'changes', sqsEndpoint: 'localhost' }, [])).toThrow(
    /sqsEndpoint .*storeHosts/,
  )
  await opened({ sqsQueue: url }, ['127.0.0.1:9324']).close()
  await opened({ sqsQueue: 'changes' }, []).close()
})

test('credentials of the host go to queues of Amazon, and to those that storeHosts names', () => {
  const opened = (options: Options) => {
    const bounds = createBounds([], { roots: undefined, hosts: [], hostCredentials: ['instance'] })
    const credentialsProvider = 'InstanceProfileCredentialsProvider'
    new S3Driver({ bucketName: 'data', credentialsProvider, ...options }, bounds).requirePlace()
  }
  opened({ sqsQueue: 'changes' })
  expect(() => opened({ sqsQueue: 'changes', sqsEndpoint: 'sqs.example' })).toThrow(
    /sqsEndpoint would get credentials of the host, and sqs\.example/,
  )
})

test('a source without a queue tells of no changes, with one it does', async () => {
  const without = new S3Driver({ ...keys, cleanUpSqsQueue: false })
  expect(without.changes).toBeUndefined()
  await without.close()
  const driver = new S3Driver({ ...keys, sqsQueue: 'changes' })
  const feed = await driver.changes?.feed(Buffer.from('folder'))
  expect(feed).toMatchObject({ detection: 'notified', reason: 'notifications in the queue changes (SQS)' })
  await driver.close()
})
