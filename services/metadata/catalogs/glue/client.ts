import { Glue } from '@aws-sdk/client-glue'
import type { CatalogOptions } from '../../../../subjects/metadata/kinds.ts'
import { glueLimits } from '../../../../subjects/metadata/glue-limits.ts'
import type { AwsCredentials } from '../../../drivers/aws-credentials/host-credentials.ts'
import type { Renewable } from '../../../drivers/http/renewed.ts'
import type { StoreAddress } from '../../../drivers/http/store-address.ts'
import { isStaleConnection, type StoreAnswer, Transport } from '../../../drivers/http/transport.ts'
import { read, shapes } from './answers.ts'
import type { GlueEndpoint } from './endpoint.ts'
import { failureOf, ForeignAnswer, isExpired } from './errors.ts'

/** A batch of partitions with hundreds of columns each. */
const maxAnswerBytes = 64 * 1024 * 1024
/** Tries of a probe: whoever adds a catalog waits for it. */
const probeAttempts = 2

type Limits = Pick<CatalogOptions<'glue'>, keyof typeof glueLimits>

export interface Asked {
  /** For messages. */
  readonly what: () => string
  readonly shape: keyof typeof shapes
  readonly signal: AbortSignal
  /** Nobody has spoken to the endpoint before. */
  readonly isProbe?: boolean
}

/** What a call of the SDK is given beside its input. */
export interface CallOptions {
  readonly abortSignal: AbortSignal
}

/** Asks Glue by Amazon's SDK, over the transport of stores: to addresses where catalogs may be, with answers of bounded length. */
export class GlueClient {
  readonly #host: string
  readonly #transport: Transport
  readonly #credentials: Renewable<AwsCredentials>
  readonly #glue: Glue
  readonly #probing: Glue
  #last: AwsCredentials | undefined

  /** @param address where connections may go; without it anywhere */
  constructor(
    endpoint: GlueEndpoint,
    credentials: Renewable<AwsCredentials>,
    limits: Limits,
    address: StoreAddress | undefined,
  ) {
    const limit = (name: keyof typeof glueLimits) => limits[name] ?? glueLimits[name].usual
    this.#host = endpoint.host
    this.#credentials = credentials
    this.#transport = new Transport(
      endpoint,
      {
        connectTimeoutMs: limit('glueConnectionTimeout'),
        idleTimeoutMs: limit('glueMaxSocketTimeout'),
        connections: limit('glueMaxConnections'),
        maxAnswerBytes,
      },
      address,
    )
    const { secure, host, port, region } = endpoint
    const made = (maxAttempts: number) =>
      new Glue({
        // All that the SDK would else look for in the environment and the files of this host.
        endpoint: `${secure ? 'https' : 'http'}://${host}:${port}`,
        region,
        credentials: () => this.#identity(),
        maxAttempts,
        retryMode: 'standard',
        defaultsMode: 'standard',
        useFipsEndpoint: false,
        useDualstackEndpoint: false,
        userAgentAppId: () => Promise.resolve(undefined),
        authSchemePreference: [],
        requestHandler: handlerOver(this.#transport),
      })
    this.#glue = made(limit('glueMaxRetries') + 1)
    this.#probing = made(probeAttempts)
  }

  /**
   * What a call answers, as far as `shape` has it. Rejects with a StoreError, or with the signal's reason.
   * @param call what is called of the SDK
   */
  async ask<T>(
    { what, shape, signal, isProbe = false }: Asked,
    call: (glue: Glue, options: CallOptions) => Promise<T>,
  ): Promise<T> {
    const glue = isProbe ? this.#probing : this.#glue
    try {
      const answer = await call(glue, { abortSignal: signal }).catch((error: unknown) => {
        if (!isExpired(error) || this.#last === undefined || this.#credentials.forget === undefined)
          throw error
        this.#credentials.forget(this.#last)
        return call(glue, { abortSignal: signal })
      })
      return read(shapes[shape], answer) as T
    } catch (error) {
      signal.throwIfAborted()
      throw failureOf(error, { what: what(), host: this.#host, isProbe })
    }
  }

  close(): void {
    this.#transport.close()
  }

  /** The SDK asks for them with each request: whoever gives them knows when they end. */
  async #identity() {
    const credentials = await this.#credentials.get()
    this.#last = credentials
    const { accessKey, secretKey, sessionToken } = credentials
    return {
      accessKeyId: accessKey,
      secretAccessKey: secretKey,
      ...(sessionToken !== undefined && { sessionToken }),
      expiration: new Date(0),
    }
  }
}

/** A request of the SDK, as far as it is one of Glue's. */
interface SentRequest {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** JSON in UTF-8. */
  readonly body: Uint8Array
}

/** What sends the requests of the SDK. Redirections are answers that Glue does not give. */
const handlerOver = (transport: Transport) => ({
  metadata: { handlerProtocol: 'http/1.1' },
  async handle(request: SentRequest, { abortSignal }: { abortSignal?: unknown } = {}) {
    const { method, path, headers, body } = request
    const wire = {
      method,
      target: path,
      headers: Object.entries(headers).flatMap(([name, value]) => [name.toLowerCase(), value]),
      body: Buffer.from(body.buffer, body.byteOffset, body.byteLength),
      signal: abortSignal as AbortSignal | undefined,
    }
    const answer = await untilUsed(() => transport.exchange(wire))
    if (!isOfGlue(answer)) throw new ForeignAnswer(answer.status)
    const { status, headers: told, body: content } = answer
    const given = Object.entries(told).filter((one): one is [string, string] => one[1] !== undefined)
    return { response: { statusCode: status, headers: Object.fromEntries(given), body: content } }
  },
  updateHttpClientConfig: () => undefined,
  httpHandlerConfigs: () => ({}),
})

/** A connection that was closed while it lay idle was not used. */
async function untilUsed(exchange: () => Promise<StoreAnswer>): Promise<StoreAnswer> {
  for (;;) {
    try {
      return await exchange()
    } catch (error) {
      if (!isStaleConnection(error)) throw error
    }
  }
}

const isOfGlue = ({ headers }: StoreAnswer): boolean =>
  headers['x-amzn-requestid'] !== undefined ||
  /^application\/x-amz-json-1\.1\b/.test(headers['content-type'] ?? '')
