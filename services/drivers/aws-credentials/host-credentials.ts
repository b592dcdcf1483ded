import { homedir } from 'node:os'
import { join } from 'node:path'
import type { HostIdentity } from '../../../subjects/filesystems/host-identities.ts'
import {
  askHost,
  hostFailures,
  readHostFile,
  readTokenFile,
  textsOf,
  variable,
} from '../host-credentials/ask-host.ts'
import type { HostPermission, IdentityNames } from '../host-credentials/permission.ts'
import { type Lease, Renewed } from '../http/renewed.ts'
import type { StoreAnswer } from '../http/transport.ts'
import { walkXml } from '../../../broker/common/xml.ts'
import { readProfiles } from './profiles.ts'

/** What signs requests: an access key, with a session token where it is a temporary one. */
export interface AwsCredentials {
  readonly accessKey: string
  readonly secretKey: string
  readonly sessionToken?: string | undefined
}

/** What says which credentials of the host are meant. */
export interface HostChoice {
  /** In the order in which they are looked for; the first that the host has is taken. */
  readonly identities: readonly HostIdentity[]
  readonly profile: string | undefined
  /** File with the profile; undefined for that of the service's user. */
  readonly profileFile: string | undefined
  /** Region whose token service is asked, if the environment names none. */
  readonly region: string
}

/** What the identities of a host are called that it may have several of: the role of an instance is known when that is asked. */
export const identityNames = ({ profile: named }: Pick<HostChoice, 'profile'>): IdentityNames => ({
  profile: profileName(named),
  'web-identity': variable('AWS_ROLE_ARN') ?? '',
  instance: undefined,
})

const profileName = (named: string | undefined): string => named ?? variable('AWS_PROFILE') ?? 'default'

type Found = Lease<AwsCredentials> | undefined

/** What a file says holds until it is read again; whoever renews it leaves the old ones valid for some time. */
const fileMs = 10 * 60_000

/** Credentials of the host, renewed before they end. Every use asks whether it still is allowed. */
export function hostCredentials(choice: HostChoice, permission: HostPermission): Renewed<AwsCredentials> {
  return new Renewed(async () => {
    const allowed = permission.use()
    const { identities, profileFile } = choice
    const isAllowed = (identity: HostIdentity) =>
      allowed.includes(profileFile !== undefined && identity === 'profile' ? profileFile : identity)
    const tried = identities.filter(isAllowed)
    for (const identity of tried) {
      const found = await sources[identity](choice, permission)
      if (found !== undefined) return found
    }
    throw hostFailures('set up one of them, or give accessKey and secretKey').failed(
      'refused',
      'credentials of the host',
      `it has none (looked for: ${tried.join(', ')})`,
    )
  })
}

/** Each gives undefined where the host has no such thing, and rejects where it has one that gives no credentials. */
const sources: Readonly<
  Record<HostIdentity, (choice: HostChoice, permission: HostPermission) => Promise<Found>>
> = {
  environment: async () => {
    const [accessKey, secretKey] = [variable('AWS_ACCESS_KEY_ID'), variable('AWS_SECRET_ACCESS_KEY')]
    if (accessKey === undefined || secretKey === undefined) return undefined
    return { value: { accessKey, secretKey, sessionToken: variable('AWS_SESSION_TOKEN') }, untilMs: Infinity }
  },
  'web-identity': webIdentity,
  profile,
  container,
  instance,
}

async function profile({ profile: named, profileFile }: HostChoice): Promise<Found> {
  const name = profileName(named)
  const file = (path: string) => join(homedir(), '.aws', path)
  const paths =
    profileFile === undefined
      ? [
          variable('AWS_SHARED_CREDENTIALS_FILE') ?? file('credentials'),
          variable('AWS_CONFIG_FILE') ?? file('config'),
        ]
      : [profileFile]
  const fix = 'check awsProfile, and the file of profiles on the host of the service'
  const what = `profile ${name}`
  const settings = new Map<string, string>()
  let isThere = false
  // What stands in the file of credentials goes before what stands in the other.
  for (const path of paths.toReversed()) {
    const text = await readHostFile(path, 'file of profiles', fix)
    isThere ||= text !== undefined
    for (const [key, value] of readProfiles(text ?? '').get(name) ?? []) settings.set(key, value)
  }
  const { failed } = hostFailures(fix)
  const [accessKey, secretKey] = [settings.get('aws_access_key_id'), settings.get('aws_secret_access_key')]
  if (accessKey !== undefined && secretKey !== undefined) {
    if (!isKey(accessKey) || !isKey(secretKey)) throw failed('refused', what, 'its keys are none')
    const sessionToken = settings.get('aws_session_token')
    return { value: { accessKey, secretKey, sessionToken }, untilMs: Date.now() + fileMs }
  }
  const other = [...settings.keys()].find((key) => elsewhere.test(key))
  if (other !== undefined)
    throw failed('refused', what, `${other} is not honoured: only keys that stand in the profile are`)
  if (named === undefined && profileFile === undefined && settings.size === 0) return undefined
  throw failed('refused', what, isThere ? 'it has no keys, or is not there' : 'there is no such file')
}

/** Settings of profiles whose keys come from somewhere else: commands that are run, roles, people who sign in. */
const elsewhere = /^(?:credential_|source_|role_arn|sso_|login_|web_identity_)/

/** Printable, as in a header. */
const isKey = (text: string | undefined): text is string =>
  text !== undefined && /^[!-~]{1,16384}$/.test(text)

async function webIdentity({ region }: HostChoice): Promise<Found> {
  const [path, role] = [variable('AWS_WEB_IDENTITY_TOKEN_FILE'), variable('AWS_ROLE_ARN')]
  if (path === undefined || role === undefined) return undefined
  const what = 'web identity'
  const fix =
    'check AWS_ROLE_ARN and AWS_WEB_IDENTITY_TOKEN_FILE of the service, and the trust policy of the role'
  const token = await readTokenFile(path, 'AWS_WEB_IDENTITY_TOKEN_FILE', fix)
  const answer = await askHost({
    url: stsUrl(variable('AWS_REGION') ?? variable('AWS_DEFAULT_REGION') ?? region),
    method: 'POST',
    body: {
      Action: 'AssumeRoleWithWebIdentity',
      Version: '2011-06-15',
      RoleArn: role,
      RoleSessionName: variable('AWS_ROLE_SESSION_NAME') ?? 'gantry',
      WebIdentityToken: token,
    },
    what,
    fix,
    code: ({ body }) => /^\w{1,100}$/.exec(stsFields(body).get('/Error/Code') ?? '')?.[0],
  })
  const fields = stsFields(answer.body)
  const member = (name: string) => fields.get(`/AssumeRoleWithWebIdentityResult/Credentials/${name}`)
  const [accessKey, secretKey, sessionToken, ends] = [
    member('AccessKeyId'),
    member('SecretAccessKey'),
    member('SessionToken'),
    member('Expiration'),
  ]
  return leaseOf({ accessKey, secretKey, sessionToken, ends }, answer, what, fix)
}

/** The token service of a region, in the part of the cloud that the region is in. */
function stsUrl(region: string): URL {
  const own = variable('AWS_ENDPOINT_URL_STS')
  if (own !== undefined) return new URL(own)
  const domain = region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com'
  return new URL(`https://sts.${region}.${domain}/`)
}

/** Nothing of what is no XML. */
function stsFields(xml: Buffer): ReadonlyMap<string, string> {
  const fields = new Map<string, string>()
  try {
    walkXml(xml, { close: (path, text) => fields.set(path, text.trim()) })
  } catch {
    return new Map()
  }
  return fields
}

/** Hosts that Amazon's containers have the service at, besides this host itself; any other is asked by HTTPS only. */
const containerHosts =
  /^(?:169\.254\.170\.2|169\.254\.170\.23|\[fd00:ec2::23\]|localhost|127(?:\.\d{1,3}){3}|\[::1\])$/

async function container(): Promise<Found> {
  const relative = variable('AWS_CONTAINER_CREDENTIALS_RELATIVE_URI')
  const full = variable('AWS_CONTAINER_CREDENTIALS_FULL_URI')
  if (relative === undefined && full === undefined) return undefined
  const what = 'credentials of the container'
  const fix =
    'check AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or AWS_CONTAINER_CREDENTIALS_FULL_URI of the service, and the role of its task or pod'
  const { failed } = hostFailures(fix)
  const url = URL.parse(relative === undefined ? full! : `http://169.254.170.2${relative}`)
  if (url === null) throw failed('refused', what, 'the variable has no URL')
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && containerHosts.test(url.hostname)))
    throw failed('refused', what, `${url.host} is neither asked by HTTPS nor one of Amazon’s containers`)
  const path = variable('AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE')
  const token =
    path === undefined
      ? variable('AWS_CONTAINER_AUTHORIZATION_TOKEN')
      : await readTokenFile(path, 'AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE', fix)
  const headers: Record<string, string> = { accept: 'application/json' }
  if (token !== undefined) headers['authorization'] = token
  return metadataLease(await askHost({ url, headers, what, fix, code: jsonCode }), what, fix)
}

const instanceUrl = 'http://169.254.169.254'
/** Of the token for the requests that follow at once; the longest that the service takes is six hours. */
const metadataTokenSeconds = 60

/** The metadata of the machine, version 2: a token first, which what only passes requests on cannot get. */
async function instance(_choice: HostChoice, permission: HostPermission): Promise<Found> {
  if (variable('AWS_EC2_METADATA_DISABLED')?.toLowerCase() === 'true') return undefined
  const base = variable('AWS_EC2_METADATA_SERVICE_ENDPOINT') ?? instanceUrl
  const what = 'metadata of the instance'
  const fix =
    'give the instance a role; in a container, set the hop limit of its metadata (HttpPutResponseHopLimit) to 2'
  const { failed } = hostFailures(fix)
  const at = (path: string) => new URL(path, base)
  const given = await askHost({
    url: at('/latest/api/token'),
    method: 'PUT',
    headers: { 'x-aws-ec2-metadata-token-ttl-seconds': String(metadataTokenSeconds) },
    what,
    fix,
  })
  const token = given.body.toString('latin1').trim()
  if (!isKey(token)) throw failed('refused', what, 'it gave no token')
  const headers = { 'x-aws-ec2-metadata-token': token }
  const roles = '/latest/meta-data/iam/security-credentials/'
  const listed = await askHost({ url: at(roles), headers, what, fix })
  const [role = ''] = listed.body.toString('utf8').trim().split(/\s/)
  if (!/^[\w+=,.@-]{1,64}$/.test(role)) throw failed('refused', what, 'it names no role')
  permission.useNamed('instance', role)
  const answer = await askHost({ url: at(roles + role), headers, what, fix, code: jsonCode })
  return metadataLease(answer, what, fix)
}

/** The word for what went wrong, in the JSON of both services. */
const jsonCode = (answer: StoreAnswer): string | undefined =>
  /^\w{1,100}$/.exec(textsOf(answer)['Code'] ?? textsOf(answer)['code'] ?? '')?.[0]

function metadataLease(answer: StoreAnswer, what: string, fix: string): Lease<AwsCredentials> {
  const {
    AccessKeyId: accessKey,
    SecretAccessKey: secretKey,
    Token: sessionToken,
    Expiration: ends,
  } = textsOf(answer)
  return leaseOf({ accessKey, secretKey, sessionToken, ends }, answer, what, fix)
}

function leaseOf(
  given: Readonly<Record<'accessKey' | 'secretKey' | 'sessionToken' | 'ends', string | undefined>>,
  answer: StoreAnswer,
  what: string,
  fix: string,
): Lease<AwsCredentials> {
  const { accessKey, secretKey, sessionToken } = given
  const endsMs = Date.parse(given.ends ?? '')
  if (!isKey(accessKey) || !isKey(secretKey) || !isKey(sessionToken) || Number.isNaN(endsMs))
    throw hostFailures(fix).failed(
      'refused',
      what,
      `the answer has no credentials${suffixed(jsonCode(answer))}`,
    )
  // Whoever tells the end by his clock tells the time by it too.
  const toldMs = Date.parse(answer.headers.date ?? '')
  const nowMs = Date.now()
  const untilMs = nowMs + (endsMs - (Number.isNaN(toldMs) ? nowMs : toldMs))
  return { value: { accessKey, secretKey, sessionToken }, untilMs }
}

const suffixed = (code: string | undefined): string => (code === undefined ? '' : ` (${code})`)
