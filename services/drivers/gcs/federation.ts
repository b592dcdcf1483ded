import { notAccepted } from '../../../subjects/kit/errors.ts'
import type { StoreBounds } from '../contract/bounds.ts'
import { askHost, hostFailures, readHostFile, textsOf, variable } from '../host-credentials/ask-host.ts'
import { HostPermission, ownName, problemOf, type Recipient } from '../host-credentials/permission.ts'
import { endpointOf, membersOf, tokenIn } from '../http/client-credentials.ts'
import { type Lease, Renewed } from '../http/renewed.ts'
import { requireAddresses, StoreAddress } from '../http/store-address.ts'
import type { Access, Credentials } from './tokens.ts'

/** Of an identity that is known elsewhere: "Workload identity federation", type `external_account`. */
interface Federation {
  readonly audience: string
  readonly subjectTokenType: string
  readonly tokenUrl: URL
  /** Where the token is exchanged for one of a service account, if it is. */
  readonly impersonationUrl: URL | undefined
  readonly lifetimeSeconds: number
  readonly subject: {
    readonly file: string | undefined
    readonly url: URL | undefined
    readonly headers: Readonly<Record<string, string>>
    /** Member of the JSON that has the token; undefined where the token is all there is. */
    readonly member: string | undefined
  }
}

const fix = 'check the configuration of the federation, and what the identity may do'
const what = 'workload identity federation'

/** By a configuration that a caller gives: what it names is reached as any endpoint is, and of files what the setting allows. */
export function federatedByKey(
  json: Readonly<Record<string, unknown>>,
  { scope, recipients }: Access,
  bounds: StoreBounds | undefined,
): Credentials {
  const field = 'jsonKey'
  const federation = readFederation(json, (problem) => notAccepted(field, problem))
  const { file, url } = federation.subject
  const address = url && bounds && new StoreAddress(endpointOf(url), bounds)
  const servers = recipientsOf(federation, field, bounds)
  const permission =
    file === undefined ? undefined : new HostPermission(bounds, [file], field, [...recipients, ...servers])
  const tokens = new Renewed(async () => {
    permission?.use()
    requireServers(servers)
    return federatedToken(federation, scope, address)
  })
  return {
    tokens,
    require: () => {
      permission?.require()
      requireAddresses(address === undefined ? [] : [address], field)
      const problem = bounds && servers.map(problemOf).find((one) => one !== undefined)
      if (problem !== undefined) throw notAccepted(problem.field, problem.text)
    },
  }
}

/**
 * By a configuration in a file of the host, which its administrator made: where the subject's token is, it says.
 * @param path empty for that of the service's environment
 */
export function federatedByFile(
  path: string,
  { scope, recipients }: Access,
  bounds: StoreBounds | undefined,
): Credentials {
  const property = 'fs.gs.auth.workload.identity.federation.credential.config.file'
  const field = `additionalProperties.${path === '' ? 'fs.gs.auth.type' : property}`
  const wanted = [path === '' ? 'web-identity' : path]
  const permission = new HostPermission(bounds, wanted, field, recipients, { 'web-identity': ownName })
  const { failed } = hostFailures(fix)
  const tokens = new Renewed(async () => {
    permission.use()
    const place = path === '' ? variable('GOOGLE_APPLICATION_CREDENTIALS') : path
    const name = 'file with the configuration of the federation'
    if (place === undefined)
      throw failed('refused', name, 'GOOGLE_APPLICATION_CREDENTIALS of the service does not name one')
    const text = await readHostFile(place, name, fix)
    if (text === undefined) throw failed('refused', name, 'there is no such file')
    const federation = readFederation(membersOf(Buffer.from(text)), (problem) =>
      failed('refused', name, problem),
    )
    requireServers(recipientsOf(federation, name, bounds))
    return federatedToken(federation, scope, undefined)
  })
  return { tokens, require: () => permission.require() }
}

/** Google's services for tokens, of a region too; below `storage` there are buckets of its customers. */
const tokenServers = /^(?:sts|iamcredentials)(?:\.(?!storage\.)[a-z0-9-]+)*\.googleapis\.com$/

const recipientsOf = (
  { tokenUrl, impersonationUrl }: Federation,
  field: string,
  bounds: StoreBounds | undefined,
): Recipient[] =>
  [tokenUrl, impersonationUrl].flatMap((url) => {
    if (url === undefined) return []
    const endpoint = endpointOf(url)
    const address = bounds && new StoreAddress(endpoint, bounds)
    return [{ endpoint, address, isCloud: tokenServers.test(endpoint.host), field }]
  })

/** Throws a StoreError `refused`. */
function requireServers(servers: readonly Recipient[]): void {
  const problem = servers.map(problemOf).find((one) => one !== undefined)
  if (problem !== undefined)
    throw hostFailures(fix).failed('refused', what, `${problem.field} ${problem.text}`)
}

function readFederation(
  json: Readonly<Record<string, unknown>>,
  refuse: (problem: string) => Error,
): Federation {
  const texts = (members: unknown) => textsOf({ body: Buffer.from(JSON.stringify(members ?? {})) })
  const own = texts(json)
  if (own['type'] !== 'external_account') throw refuse('is not of type external_account')
  const source = (json['credential_source'] ?? {}) as Readonly<Record<string, unknown>>
  for (const [name, members] of [
    ['executable', source],
    ['environment_id', source],
    ['certificate', source],
    ['client_id', json],
    ['workforce_pool_user_project', json],
  ] as const)
    if (members[name] !== undefined)
      throw refuse(`has ${name}, which is not honoured: use a token in a file, or at a URL`)
  const { file, url } = texts(source)
  const { type = 'text', subject_token_field_name: member } = texts(source['format'])
  const { audience, subject_token_type: subjectTokenType } = own
  if (audience === undefined || subjectTokenType === undefined)
    throw refuse('has no audience or no subject_token_type')
  if ((file === undefined) === (url === undefined))
    throw refuse('must have credential_source.file or credential_source.url')
  if (type !== 'text' && (type !== 'json' || member === undefined))
    throw refuse('has a credential_source.format that is neither text nor json with subject_token_field_name')
  const urlOf = (text: string, name: string): URL => {
    const its = URL.parse(text)
    if (its === null || !/^https?:$/.test(its.protocol)) throw refuse(`has no URL as ${name}`)
    return its
  }
  const { service_account_impersonation_url: impersonation, token_url: tokenUrl } = own
  const impersonationUrl =
    impersonation === undefined ? undefined : urlOf(impersonation, 'service_account_impersonation_url')
  if (impersonationUrl !== undefined && !isImpersonation.test(impersonationUrl.pathname))
    throw refuse('has no address of generateAccessToken as service_account_impersonation_url')
  const { token_lifetime_seconds: seconds } = (json['service_account_impersonation'] ?? {}) as Record<
    string,
    unknown
  >
  return {
    audience,
    subjectTokenType,
    tokenUrl: urlOf(tokenUrl ?? 'https://sts.googleapis.com/v1/token', 'token_url'),
    impersonationUrl,
    lifetimeSeconds:
      typeof seconds === 'number' && seconds >= 600 && seconds <= 43_200 ? Math.floor(seconds) : 3_600,
    subject: {
      file,
      url: url === undefined ? undefined : urlOf(url, 'credential_source.url'),
      headers: headersIn(texts(source['headers']), refuse),
      member: type === 'json' ? member : undefined,
    },
  }
}

const isImpersonation = /^\/v1\/projects\/-\/serviceAccounts\/[^/]+:generateAccessToken$/

function headersIn(
  given: Readonly<Record<string, string | undefined>>,
  refuse: (problem: string) => Error,
): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {}
  for (const [name, value = ''] of Object.entries(given)) {
    // Those of the connection are ours to set.
    if (
      !/^[\w-]{1,100}$/.test(name) ||
      !/^[ -~]{0,4000}$/.test(value) ||
      /^(?:host|connection|content-length|transfer-encoding)$/i.test(name)
    )
      throw refuse('has a header in credential_source.headers that cannot be sent')
    headers[name.toLowerCase()] = value
  }
  return headers
}

/** @param address of where the subject's token is, if a caller named that */
async function federatedToken(
  federation: Federation,
  scope: string,
  address: StoreAddress | undefined,
): Promise<Lease<string>> {
  const { audience, subjectTokenType, tokenUrl, impersonationUrl, lifetimeSeconds } = federation
  const { failed } = hostFailures(fix)
  const code = ({ body }: { readonly body: Buffer }) => {
    const { error } = membersOf(body)
    const word = typeof error === 'object' && error !== null ? (error as { status?: unknown }).status : error
    return typeof word === 'string' ? /^\w{1,100}$/.exec(word)?.[0] : undefined
  }
  const exchanged = await askHost({
    url: tokenUrl,
    method: 'POST',
    body: {
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      audience,
      // What impersonates asks for the rights to do so, and for no more than those here after that.
      scope: impersonationUrl === undefined ? scope : 'https://www.googleapis.com/auth/cloud-platform',
      requested_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      subject_token: await subjectToken(federation, address),
      subject_token_type: subjectTokenType,
    },
    what,
    fix,
    code,
  })
  const token = tokenIn(exchanged)
  if (token === undefined) throw failed('refused', what, 'the answer has no token')
  if (impersonationUrl === undefined) return token
  const answer = await askHost({
    url: impersonationUrl,
    method: 'POST',
    headers: { authorization: `Bearer ${token.value}` },
    body: JSON.stringify({ scope: scope.split(' '), lifetime: `${lifetimeSeconds}s` }),
    what: `${what}: service account`,
    fix,
    code,
  })
  const { accessToken = '', expireTime = '' } = textsOf(answer)
  const untilMs = Date.parse(expireTime)
  if (!/^[!-~]{1,16384}$/.test(accessToken) || Number.isNaN(untilMs))
    throw failed('refused', what, 'the answer has no token of the service account')
  return { value: accessToken, untilMs }
}

async function subjectToken({ subject }: Federation, address: StoreAddress | undefined): Promise<string> {
  const { file, url, headers, member } = subject
  const name = `${what}: token of the subject`
  const { failed } = hostFailures(fix)
  const bytes =
    file === undefined
      ? (await askHost({ url: url!, headers, what: name, fix, address })).body
      : Buffer.from((await readHostFile(file, name, fix)) ?? '')
  const token = (
    member === undefined ? bytes.toString('utf8') : (textsOf({ body: bytes })[member] ?? '')
  ).trim()
  if (!/^[ -~]+$/.test(token)) throw failed('refused', name, 'there is none')
  return token
}
