import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { listenOnLoopback } from './loopback.ts'

type Answer = (request: IncomingMessage, response: ServerResponse) => void
type Route = (asked: Asked, response: ServerResponse) => unknown

/** What was asked of the double. */
interface Asked {
  readonly method: string
  readonly url: URL
  readonly headers: IncomingMessage['headers']
  /** Of a form. */
  readonly form: URLSearchParams
  readonly text: string
}

export const role = 'role-of-tests'
/** In files, or in the environment, of the service. */
export const containerToken = 'authorization-of-the-container'
export const identityHeader = 'header-of-the-app-service'
export const subjectToken = 'subject.token.of-tests'
export const impersonated = 'mover@tests.iam.gserviceaccount.com'

/**
 * Stands for the services that give a host its credentials, which are there on machines of a cloud alone: the metadata of
 * Amazon (version 2: nothing without a token), Google (nothing without its header, which it sends back) and Azure, the services
 * beside containers and apps, and the token services of the three clouds. Each gives what it gives for as long as `seconds` says.
 */
export class HostIdentityDouble implements AsyncDisposable {
  /** For how long credentials are. */
  seconds = 3_600
  /** What S3 takes; another session token each time. */
  keys = { accessKey: 'ASIAEXAMPLE', secretKey: 'secret-of-the-host' }
  readonly asked: Asked[] = []
  /** Session and bearer tokens that were given, the last one last. */
  readonly given: string[] = []
  /** Answers in place of the double; for those that it returns false for, the double does. */
  interfere: ((asked: Asked, response: ServerResponse) => boolean) | undefined
  readonly #metadataTokens = new Set<string>()
  #port = 0
  #close: (() => PromiseLike<void>) | undefined

  static async start(): Promise<HostIdentityDouble> {
    const double = new HostIdentityDouble()
    const answer: Answer = (request, response) =>
      void double.#answer(request, response).catch(() => response.destroy())
    const { port, [Symbol.asyncDispose]: dispose } = await listenOnLoopback(createServer(answer))
    double.#port = port
    double.#close = dispose
    return double
  }

  get host(): string {
    return `127.0.0.1:${this.#port}`
  }

  get url(): string {
    return `http://${this.host}`
  }

  /** `PUT /latest/api/token`, … */
  get lines(): string[] {
    return this.asked.map(({ method, url }) => `${method} ${url.pathname}`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close?.()
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request)
    const { method = '', headers } = request
    const url = new URL(request.url ?? '', this.url)
    const asked = { method, url, headers, form: new URLSearchParams(body), text: body }
    this.asked.push(asked)
    if (this.interfere?.(asked, response) === true) return
    const routes: Readonly<Record<string, Route>> = {
      'PUT /latest/api/token': (asked, response) => this.#metadataToken(asked, response),
      'GET /latest/meta-data/iam/security-credentials/': (asked, response) => this.#roleName(asked, response),
      [`GET /latest/meta-data/iam/security-credentials/${role}`]: (asked, response) =>
        this.#instance(asked, response),
      'GET /container': (asked, response) => this.#container(asked, response),
      'POST /': (asked, response) => this.#sts(asked, response),
      'GET /computeMetadata/v1/instance/service-accounts/default/token': (asked, response) =>
        this.#google(asked, response),
      'POST /v1/token': (asked, response) => this.#googleSts(asked, response),
      [`POST /v1/projects/-/serviceAccounts/${impersonated}:generateAccessToken`]: (asked, response) =>
        this.#impersonate(asked, response),
      'GET /subject': (_asked, its) => its.end(JSON.stringify({ value: subjectToken })),
      'GET /metadata/identity/oauth2/token': (asked, response) => this.#azure(asked, response),
      'GET /msi/token': (asked, response) => this.#appService(asked, response),
      'POST /tenant/oauth2/v2.0/token': (asked, response) => this.#azureSts(asked, response),
    }
    const route = routes[`${method} ${url.pathname}`]
    if (route === undefined) response.writeHead(404).end()
    else route(asked, response)
  }

  #token(): string {
    const token = randomBytes(12).toString('hex')
    this.given.push(token)
    return token
  }

  #ends(): string {
    return new Date(Date.now() + 1_000 * this.seconds).toISOString()
  }

  #aws(): string {
    const { accessKey: AccessKeyId, secretKey: SecretAccessKey } = this.keys
    return JSON.stringify({
      ...{ Code: 'Success', Type: 'AWS-HMAC', AccessKeyId, SecretAccessKey },
      ...{ Token: this.#token(), Expiration: this.#ends() },
    })
  }

  #metadataToken({ headers }: Asked, response: ServerResponse): void {
    const seconds = Number(headers['x-aws-ec2-metadata-token-ttl-seconds'])
    if (!(seconds >= 1 && seconds <= 21_600) || headers['x-forwarded-for'] !== undefined)
      return void response.writeHead(400).end()
    const token = randomBytes(12).toString('base64')
    this.#metadataTokens.add(token)
    response.end(token)
  }

  #isWithToken({ headers }: Asked, response: ServerResponse): boolean {
    const isKnown = this.#metadataTokens.has(String(headers['x-aws-ec2-metadata-token']))
    if (!isKnown) response.writeHead(401).end()
    return isKnown
  }

  #roleName(asked: Asked, response: ServerResponse): void {
    if (this.#isWithToken(asked, response)) response.end(role)
  }

  #instance(asked: Asked, response: ServerResponse): void {
    if (this.#isWithToken(asked, response)) response.end(this.#aws())
  }

  #container({ headers }: Asked, response: ServerResponse): void {
    if (headers.authorization === containerToken) response.end(this.#aws())
    else response.writeHead(401).end(JSON.stringify({ code: 'AccessDenied', message: containerToken }))
  }

  #sts({ form }: Asked, response: ServerResponse): void {
    const isRight =
      form.get('Action') === 'AssumeRoleWithWebIdentity' &&
      form.get('Version') === '2011-06-15' &&
      form.get('WebIdentityToken') === subjectToken
    if (!isRight) {
      const error = '<Type>Sender</Type><Code>InvalidIdentityToken</Code>'
      const message = `<Message>${form.get('WebIdentityToken')}</Message>`
      return void response
        .writeHead(400)
        .end(
          `<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error>${error}${message}</Error></ErrorResponse>`,
        )
    }
    const { accessKey, secretKey } = this.keys
    response.end(
      `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult>
      <Credentials><SessionToken>${this.#token()}</SessionToken><SecretAccessKey>${secretKey}</SecretAccessKey>
      <Expiration>${this.#ends()}</Expiration><AccessKeyId>${accessKey}</AccessKeyId></Credentials>
      </AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`,
    )
  }

  #bearer(): string {
    return JSON.stringify({ access_token: this.#token(), expires_in: this.seconds, token_type: 'Bearer' })
  }

  #google({ headers }: Asked, response: ServerResponse): void {
    if (headers['metadata-flavor'] !== 'Google') return void response.writeHead(403).end()
    response.setHeader('metadata-flavor', 'Google').end(this.#bearer())
  }

  #googleSts({ form }: Asked, response: ServerResponse): void {
    const isRight =
      form.get('grant_type') === 'urn:ietf:params:oauth:grant-type:token-exchange' &&
      form.get('subject_token') === subjectToken &&
      form.get('audience') === '//iam.googleapis.com/pool'
    if (isRight) response.end(this.#bearer())
    else
      response
        .writeHead(400)
        .end(JSON.stringify({ error: 'invalid_grant', error_description: form.get('subject_token') }))
  }

  #impersonate({ headers }: Asked, response: ServerResponse): void {
    const [, token = ''] = /^Bearer (.+)$/.exec(headers.authorization ?? '') ?? []
    if (!this.given.includes(token)) return void response.writeHead(401).end()
    response.end(JSON.stringify({ accessToken: this.#token(), expireTime: this.#ends() }))
  }

  #azure({ headers, url }: Asked, response: ServerResponse): void {
    if (headers['metadata'] !== 'true' || url.searchParams.get('resource') === null)
      return void response.writeHead(400).end(JSON.stringify({ error: 'invalid_request' }))
    response.end(this.#bearer())
  }

  #appService({ headers, url }: Asked, response: ServerResponse): void {
    if (
      headers['x-identity-header'] !== identityHeader ||
      url.searchParams.get('api-version') !== '2019-08-01'
    )
      return void response.writeHead(400).end()
    const ends = Math.floor(Date.now() / 1_000) + this.seconds
    response.end(JSON.stringify({ access_token: this.#token(), expires_on: String(ends) }))
  }

  #azureSts({ form }: Asked, response: ServerResponse): void {
    if (form.get('client_assertion') === subjectToken) response.end(this.#bearer())
    else response.writeHead(401).end(JSON.stringify({ error: 'invalid_client' }))
  }
}
