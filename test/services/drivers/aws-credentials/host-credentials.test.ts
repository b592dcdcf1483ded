import { createServer, type IncomingMessage } from 'node:http'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createBounds, type StoreBounds } from '../../../../services/drivers/contract/bounds.ts'
import { HostPermission } from '../../../../services/drivers/host-credentials/permission.ts'
import {
  hostCredentials,
  type HostChoice,
  identityNames,
} from '../../../../services/drivers/aws-credentials/host-credentials.ts'
import { S3Driver } from '../../../../services/drivers/s3a/s3a.ts'
import { hostIdentities } from '../../../../subjects/filesystems/host-identities.ts'
import type { FilesystemOptions } from '../../../../subjects/filesystems/kinds.ts'
import { failureOf, never } from '../../../conformance/driver-store.ts'
import {
  containerToken,
  HostIdentityDouble,
  role,
  subjectToken,
} from '../../../support/host-identity-double.ts'
import { listenOnLoopback } from '../../../support/loopback.ts'

type Options = FilesystemOptions<'s3a'>

const folder = mkdtempSync(join(tmpdir(), 'gantry-host-'))
const file = (name: string, text: string) => {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}
afterAll(() => rmSync(folder, { recursive: true }))

let double: HostIdentityDouble
beforeEach(async () => {
  double = await HostIdentityDouble.start()
  for (const name of [
    'AWS_ACCESS_KEY_ID',
    'AWS_WEB_IDENTITY_TOKEN_FILE',
    'AWS_CONTAINER_CREDENTIALS_FULL_URI',
  ])
    vi.stubEnv(name, '')
  vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', join(folder, 'none'))
  vi.stubEnv('AWS_CONFIG_FILE', join(folder, 'none'))
  vi.stubEnv('AWS_EC2_METADATA_SERVICE_ENDPOINT', double.url)
})
afterEach(async () => {
  vi.useRealTimers()
  vi.unstubAllEnvs()
  await double[Symbol.asyncDispose]()
})

const boundsOf = (allowed: readonly string[], hosts: readonly string[] = ['127.0.0.0/8']) =>
  createBounds([], { roots: undefined, hosts, hostCredentials: allowed })
const credentialsOf = (choice: Partial<HostChoice>, allowed: readonly string[] = hostIdentities) => {
  const whole = {
    identities: hostIdentities,
    profile: undefined,
    profileFile: undefined,
    region: 'eu-west-1',
    ...choice,
  }
  const { identities, profileFile } = whole
  const wanted = profileFile === undefined ? identities : [profileFile]
  const permission = new HostPermission(
    boundsOf(allowed),
    wanted,
    'credentialsProvider',
    [],
    identityNames(whole),
  )
  return hostCredentials(whole, permission)
}
const instance = ['instance'] as const
const untilMoved = (ms: number) => vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + ms })

describe('the metadata of an instance', () => {
  test('is asked for a token first, and once for all who wait', async () => {
    const credentials = credentialsOf({ identities: instance })
    const all = await Promise.all(Array.from({ length: 50 }, () => credentials.get()))
    expect(new Set(all)).toHaveLength(1)
    expect(all[0]).toEqual({ ...double.keys, sessionToken: double.given[0] })
    expect(double.lines).toEqual([
      'PUT /latest/api/token',
      'GET /latest/meta-data/iam/security-credentials/',
      `GET /latest/meta-data/iam/security-credentials/${role}`,
    ])
  })

  test('is asked again minutes before they end, and with what is valid it goes on when that fails', async () => {
    const credentials = credentialsOf({ identities: instance })
    const first = await credentials.get()
    untilMoved(54 * 60_000)
    expect(await credentials.get()).toBe(first)
    untilMoved(2 * 60_000)
    double.interfere = (_asked, response) => (response.writeHead(500).end(), true)
    const asked = double.asked.length
    expect(await Promise.all([credentials.get(), credentials.get()])).toEqual([first, first])
    expect(await credentials.get()).toBe(first)
    expect(double.asked).toHaveLength(asked + 3)
    double.interfere = undefined
    untilMoved(40_000)
    const all = await Promise.all(Array.from({ length: 20 }, () => credentials.get()))
    expect(new Set(all)).toHaveLength(1)
    expect(all[0]).not.toBe(first)
    expect(double.given).toHaveLength(2)
  })

  test('what has ended is not used, whatever the answer', async () => {
    const credentials = credentialsOf({ identities: instance })
    await credentials.get()
    untilMoved(61 * 60_000)
    double.interfere = (_asked, response) => (response.writeHead(500).end('top-secret'), true)
    await expect(credentials.get()).rejects.toMatchObject({ failure: 'unreachable' })
    await expect(credentials.get()).rejects.not.toThrow(/top-secret/)
  })

  test('by another clock than this host has, credentials last as long', async () => {
    double.interfere = (_asked, response) => {
      response.setHeader('date', new Date(Date.now() - 7_200_000).toUTCString())
      return false
    }
    double.seconds = -3_600
    const credentials = credentialsOf({ identities: instance })
    expect(await credentials.get()).toBe(await credentials.get())
    expect(double.given).toHaveLength(1)
  })

  test.each<[string, NonNullable<HostIdentityDouble['interfere']>, RegExp]>([
    [
      'a redirect',
      (_asked, response) => (response.writeHead(302, { location: double.url }).end(), true),
      /answered 302/,
    ],
    [
      'no token service',
      (_asked, response) => (response.writeHead(404).end(), true),
      /answered 404.*hop limit/,
    ],
    [
      'no role',
      ({ url }, response) => url.pathname.endsWith('credentials/') && (response.end(''), true),
      /names no role/,
    ],
    [
      'a role that is a path',
      ({ url }, response) => url.pathname.endsWith('/') && (response.end('../../user-data'), true),
      /names no role/,
    ],
    [
      'an error in JSON',
      ({ url }, response) =>
        url.pathname.endsWith(role) && (response.end('{"Code":"AssumeRoleUnauthorizedAccess"}'), true),
      /no credentials \(AssumeRoleUnauthorizedAccess\)/,
    ],
    [
      'a huge answer',
      (_asked, response) => (response.end('x'.repeat(1024 * 1024)), true),
      /longer than 65536 bytes/,
    ],
    ['a header in the token', (_asked, response) => (response.end('a\r\nhost: x'), true), /gave no token/],
  ])('%s gives no credentials', async (_name, interfere, message) => {
    double.interfere = interfere
    const error = await credentialsOf({ identities: instance })
      .get()
      .catch((error: Error) => error)
    expect(error).toMatchObject({ message: expect.stringMatching(message) })
  })
})

describe('the service beside a container', () => {
  test('gives credentials for the token in the file of the environment', async () => {
    vi.stubEnv('AWS_CONTAINER_CREDENTIALS_FULL_URI', `${double.url}/container`)
    vi.stubEnv('AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE', file('token', `${containerToken}\n`))
    expect(await credentialsOf({ identities: ['container'] }).get()).toMatchObject(double.keys)
    vi.stubEnv('AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE', file('token', 'another'))
    const refused = credentialsOf({ identities: ['container'] }).get()
    await expect(refused).rejects.toThrow(/answered 401 AccessDenied/)
    await expect(refused).rejects.not.toThrow(containerToken)
  })

  test.each([
    'http://10.0.0.1/x',
    'http://169.254.169.254/x',
    'http://localhost.example/x',
    'ftp://127.0.0.1/',
    'x',
  ])('is not %s', async (url) => {
    vi.stubEnv('AWS_CONTAINER_CREDENTIALS_FULL_URI', url)
    await expect(credentialsOf({ identities: ['container'] }).get()).rejects.toMatchObject({
      failure: 'refused',
    })
  })
})

describe('a web identity', () => {
  beforeEach(() => {
    vi.stubEnv('AWS_ENDPOINT_URL_STS', double.url)
    vi.stubEnv('AWS_ROLE_ARN', 'arn:aws:iam::123456789012:role/mover')
    vi.stubEnv('AWS_WEB_IDENTITY_TOKEN_FILE', file('identity', subjectToken))
  })

  test('is exchanged for credentials of the role', async () => {
    const credentials = credentialsOf({ identities: ['web-identity'] })
    expect(await credentials.get()).toEqual({ ...double.keys, sessionToken: double.given[0] })
    expect(double.asked[0]?.form.get('RoleArn')).toBe('arn:aws:iam::123456789012:role/mover')
  })

  test('that is not taken is told by its code alone', async () => {
    vi.stubEnv('AWS_WEB_IDENTITY_TOKEN_FILE', file('identity', 'top-secret'))
    const refused = credentialsOf({ identities: ['web-identity'] }).get()
    await expect(refused).rejects.toThrow(/answered 400 InvalidIdentityToken/)
    await expect(refused).rejects.not.toThrow(/top-secret/)
  })

  test('that is there and fails does not make way for another identity', async () => {
    vi.stubEnv('AWS_WEB_IDENTITY_TOKEN_FILE', join(folder, 'gone'))
    await expect(credentialsOf({}).get()).rejects.toThrow(
      /AWS_WEB_IDENTITY_TOKEN_FILE: there is no such file/,
    )
    expect(double.asked).toEqual([])
  })
})

describe('a profile', () => {
  const profiles = () =>
    file(
      'profiles',
      `# of tests
[default]
aws_access_key_id = AKIADEFAULT
aws_secret_access_key = of/default+= ; a comment
[profile other]
  aws_access_key_id=AKIAOTHER
aws_secret_access_key=of-other
aws_session_token=token#not-a-comment
s3 =
  max_concurrent_requests = 20
[process]
credential_process = /bin/id
[sso]
sso_session = people
[sso-session people]
aws_access_key_id = no
`,
    )

  test.each([
    [undefined, { accessKey: 'AKIADEFAULT', secretKey: 'of/default+=', sessionToken: undefined }],
    ['other', { accessKey: 'AKIAOTHER', secretKey: 'of-other', sessionToken: 'token#not-a-comment' }],
  ])('%s is read from the file that the setting names', async (profile, wanted) => {
    const profileFile = profiles()
    const credentials = credentialsOf({ identities: ['profile'], profile, profileFile }, [profileFile])
    expect(await credentials.get()).toEqual(wanted)
  })

  test.each([
    ['process', /credential_process is not honoured/],
    ['sso', /sso_session is not honoured/],
    ['people', /has no keys, or is not there/],
    ['none', /has no keys, or is not there/],
  ])('%s is refused by name', async (profile, message) => {
    vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', profiles())
    await expect(credentialsOf({ identities: ['profile'], profile }).get()).rejects.toThrow(message)
  })

  test('a file that is none, or not there, or another than the setting names, is refused', async () => {
    const open = (profileFile: string, allowed = [profileFile]) =>
      credentialsOf({ identities: ['profile'], profileFile }, allowed).get()
    await expect(async () => open(folder)).rejects.toThrow(/it is no file/)
    await expect(async () => open(join(folder, 'gone'))).rejects.toThrow(/no such file/)
    await expect(async () => open('/dev/zero')).rejects.toThrow(/it is no file/)
    await expect(async () => open(profiles(), ['profile', folder])).rejects.toThrow(/hostCredentials/)
    await expect(async () => open(file('large', 'x'.repeat(70_000)))).rejects.toThrow(/longer than 65536/)
  })

  test('the file of credentials goes before that of the configuration', async () => {
    vi.stubEnv('AWS_CONFIG_FILE', profiles())
    vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', file('own', '[other]\naws_access_key_id=AKIAOWN\n'))
    expect(await credentialsOf({ identities: ['profile'], profile: 'other' }).get()).toMatchObject({
      accessKey: 'AKIAOWN',
      secretKey: 'of-other',
    })
  })
})

test('the chain takes the first that the host has and the setting allows', async () => {
  expect(await credentialsOf({}).get()).toMatchObject(double.keys)
  vi.stubEnv(
    'AWS_SHARED_CREDENTIALS_FILE',
    file('own', '[default]\naws_access_key_id=P\naws_secret_access_key=S'),
  )
  expect(await credentialsOf({}).get()).toMatchObject({ accessKey: 'P' })
  expect(await credentialsOf({}, ['instance']).get()).toMatchObject(double.keys)
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'E')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'S')
  expect(await credentialsOf({}).get()).toMatchObject({ accessKey: 'E' })
  vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true')
  await expect(credentialsOf({}, ['instance']).get()).rejects.toThrow(/it has none \(looked for: instance\)/)
})

describe('where the setting names one of several', () => {
  const others = /credentialsProvider uses credentials of the host of which .* names others alone/

  test('only that role of an instance is used', async () => {
    const named = [`instance:${role}`]
    expect(await credentialsOf({ identities: instance }, named).get()).toMatchObject(double.keys)
    const given = double.given.length
    const other = credentialsOf({ identities: instance }, ['instance:another', 'profile'])
    await expect(other.get()).rejects.toMatchObject({
      failure: 'refused',
      message: expect.stringMatching(others),
    })
    await expect(other.get()).rejects.not.toThrow(role)
    expect(double.given).toHaveLength(given)
  })

  test('only that profile is used, in the chain too', async () => {
    const keys = (name: string) => `[${name}]\naws_access_key_id=${name}\naws_secret_access_key=S\n`
    vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', file('two', keys('default') + keys('backup')))
    const get = (profile: string | undefined, allowed: readonly string[], identities = hostIdentities) =>
      credentialsOf({ identities, profile }, allowed).get()
    expect(await get('backup', ['profile:backup'])).toMatchObject({ accessKey: 'backup' })
    expect(await get(undefined, ['profile:default'])).toMatchObject({ accessKey: 'default' })
    await expect(get(undefined, ['profile:backup'])).rejects.toThrow(others)
    await expect(get('backu', ['profile:backup'])).rejects.toThrow(others)
    expect(await get(undefined, ['profile:backup', 'instance'])).toMatchObject(double.keys)
    vi.stubEnv('AWS_PROFILE', 'backup')
    expect(await get(undefined, ['profile:backup'])).toMatchObject({ accessKey: 'backup' })
  })

  test('only that role of a web identity is used', async () => {
    const identities = ['web-identity'] as const
    const arn = 'arn:aws:iam::123456789012:role/mover'
    vi.stubEnv('AWS_WEB_IDENTITY_TOKEN_FILE', file('token', subjectToken))
    vi.stubEnv('AWS_ROLE_ARN', arn)
    vi.stubEnv('AWS_ENDPOINT_URL_STS', double.url)
    const other = credentialsOf({ identities }, [`web-identity:${arn}s`])
    await expect(other.get()).rejects.toThrow(others)
    expect(double.asked).toEqual([])
    expect(await credentialsOf({ identities }, [`web-identity:${arn}`]).get()).toMatchObject(double.keys)
  })

  test('what has no name is not allowed by one, nor a file by what begins as it does', async () => {
    const bounds = boundsOf(['environment:x', '/profiles:x'])
    for (const wanted of ['environment', '/profiles'])
      expect(() => new HostPermission(bounds, [wanted], 'field').require()).toThrow(
        /may not: an administrator/,
      )
  })
})

describe('a filesystem', () => {
  const providers = [
    ['org.apache.hadoop.fs.s3a.auth.IAMInstanceCredentialsProvider', 'container or instance'],
    ['com.amazonaws.auth.InstanceProfileCredentialsProvider', 'instance'],
    ['software.amazon.awssdk.auth.credentials.ContainerCredentialsProvider', 'container'],
    ['com.amazonaws.auth.profile.ProfileCredentialsProvider', 'profile'],
    ['WebIdentityTokenCredentialsProvider', 'web-identity'],
    ['EnvironmentVariableCredentialsProvider', 'environment'],
    ['DefaultAWSCredentialsProviderChain', 'environment or web-identity or profile or container or instance'],
  ] as const
  const open = (options: Partial<Options>, bounds?: StoreBounds) => {
    const driver = new S3Driver({ bucketName: 'data', ...options }, bounds)
    return Object.assign(driver, { [Symbol.asyncDispose]: () => driver.close() })
  }

  test.each(providers)(
    'with %s is refused while the setting has not %s',
    async (credentialsProvider, wanted) => {
      await using driver = open({ credentialsProvider }, boundsOf(['/etc/passwd']))
      expect(() => driver.requirePlace()).toThrow(
        `input: credentialsProvider uses credentials of the host, which filesystems and catalogs may not: an administrator can add ${wanted} to the setting hostCredentials`,
      )
      await using bare = open({ credentialsProvider })
      expect(await failureOf(bare.probe(never))).toBe('refused')
      expect(double.asked).toEqual([])
    },
  )

  test('with a file of profiles is refused while the setting has not that file', async () => {
    const options = {
      credentialsProvider: 'ProfileCredentialsProvider',
      awsCredentialsConfigFile: '/etc/shadow',
    }
    await using driver = open(options, boundsOf(hostIdentities))
    expect(() => driver.requirePlace()).toThrow(
      /awsCredentialsConfigFile uses .* add \/etc\/shadow to the setting/,
    )
  })

  test.each([
    [{ accessKey: 'a', secretKey: 'b', awsProfile: 'p' }, /awsProfile is for another/],
    [
      { credentialsProvider: 'DefaultCredentialsProvider', awsCredentialsConfigFile: '/x' },
      /awsCredentialsConfigFile is for/,
    ],
    [
      { credentialsProvider: 'InstanceProfileCredentialsProvider', accessKey: 'a' },
      /accessKey is for another/,
    ],
  ])('%j is refused', (options, message) => {
    expect(() => open(options)).toThrow(message)
  })

  test('sends credentials of the host to Amazon and to endpoints that the setting storeHosts names only', async () => {
    const credentialsProvider = 'InstanceProfileCredentialsProvider'
    const opened = (endpoint: string | undefined, hosts: string[], more: Partial<Options> = {}) => {
      const driver = open(
        { credentialsProvider, ...(endpoint && { endpoint }), ...more },
        boundsOf(['instance'], hosts),
      )
      return () => driver.requirePlace()
    }
    opened(undefined, [])()
    opened('https://s3.eu-west-1.amazonaws.com', [])()
    opened('store.example', ['store.example'])()
    expect(opened('store.example', [])).toThrow(/endpoint would get credentials of the host/)
    expect(opened('http://s3.amazonaws.com', [])).toThrow(/by HTTPS/)
    for (const host of [
      's3-accelerate',
      's3.dualstack.eu-west-1',
      'vpce-1.s3.eu-west-1.vpce',
      's3-us-west-2',
    ])
      opened(`${host}.amazonaws.com`, [])()
    for (const host of ['x.execute-api.us-east-1', 's3-1.us-east-1.elb', 'ec2-1-1-1-1.compute-1', 'x-s3'])
      expect(opened(`${host}.amazonaws.com`, []), host).toThrow(/endpoint would get/)
    expect(opened('s3.amazonaws.com.example', [])).toThrow(/endpoint would get/)
  })

  test.each(['169.254.169.254', 'http://169.254.170.2', '2852039166', '100.100.100.200'])(
    'does not have %s as its endpoint, whatever the settings',
    async (endpoint) => {
      const bounds = boundsOf(hostIdentities, ['0.0.0.0/0', endpoint, '169.254.169.254'])
      await using driver = open({ accessKey: 'key', secretKey: 'secret', endpoint }, bounds)
      expect(await failureOf(driver.probe(never))).toBe('unreachable')
    },
  )

  test('asks for new credentials when those of before are not taken any more', async () => {
    const requests: IncomingMessage[] = []
    const ended = '<Error><Code>ExpiredToken</Code><Message>m</Message></Error>'
    const server = createServer((request, response) => {
      requests.push(request)
      response.setHeader('x-amz-request-id', '1')
      const isNew = request.headers['x-amz-security-token'] === double.given[1]
      if (!isNew) response.writeHead(400).end(request.method === 'HEAD' ? undefined : ended)
      else response.end(request.method === 'HEAD' ? undefined : '<ListBucketResult/>')
    })
    await using listening = await listenOnLoopback(server)
    const endpoint = `http://127.0.0.1:${listening.port}`
    for (const ask of [
      (driver: S3Driver) => driver.probe(never),
      (driver: S3Driver) => driver.stat(Buffer.from('x')),
    ]) {
      double.given.length = 0
      await using driver = open(
        { credentialsProvider: 'InstanceProfileCredentialsProvider', endpoint },
        boundsOf(['instance']),
      )
      await ask(driver)
      await ask(driver)
      expect(double.given).toHaveLength(2)
    }
    const signedBy = requests.map(({ headers }) => headers.authorization?.includes(double.keys.accessKey))
    expect(new Set(signedBy)).toEqual(new Set([true]))
  })
})
