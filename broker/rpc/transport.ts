import { MuxSubscription, NatsConnectionImpl, setTransportFactory } from '@nats-io/nats-core/internal'
import {
  type ConnectionOptions,
  type Msg,
  type NatsConnection,
  RequestError,
  type RequestOptions,
  TimeoutError,
} from '@nats-io/transport-node'
import { nodeResolveHost, NodeTransport } from '@nats-io/transport-node/lib/node_transport.js'
import { withSecretReplies } from '../../subjects/kit/unguessable.ts'

/**
 * Gives the system at once what all callbacks of one turn of the event loop send. The client gives it what each callback
 * sends, and where requests come over many sockets, as in the edge, those calls are a third of all time (ADR 24).
 */
class GatheringTransport extends NodeTransport {
  #isGathering = false

  override send(frame: Uint8Array): void {
    this.#gather()
    super.send(frame)
  }

  /** What was sent before is not lost. */
  override close(error?: Error): Promise<void> {
    this.socket?.uncork()
    return super.close(error)
  }

  #gather(): void {
    // Is gone once it is closed, whatever the type says.
    const socket = this.socket as NodeTransport['socket'] | undefined
    if (this.#isGathering || socket === undefined) return
    this.#isGathering = true
    socket.cork()
    setImmediate(() => {
      this.#isGathering = false
      socket.uncork()
    })
  }
}

const SecretReplies = withSecretReplies(MuxSubscription)

/**
 * A request that waits for its reply. The client's own makes an error with its stack for each request that was answered, and
 * four promises more: a tenth of the time of a short call (ADR 24).
 */
class PendingRequest {
  /** Set by those that it waits among. */
  token = ''
  received = 0
  readonly requestSubject: string
  readonly reply: Promise<Msg>
  readonly #among: MuxSubscription
  readonly #timer: NodeJS.Timeout
  #resolve!: (reply: Msg) => void
  #reject!: (error: Error) => void

  constructor(among: MuxSubscription, subject: string, timeoutMs: number) {
    this.#among = among
    this.requestSubject = subject
    this.reply = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    this.#timer = setTimeout(timeOut, timeoutMs, this)
  }

  resolver(error: Error | null, reply: Msg): void {
    if (error === null) {
      this.#end()
      this.#resolve(reply)
    } else {
      this.cancel(error instanceof TimeoutError ? error : new RequestError(error.message, { cause: error }))
    }
  }

  cancel(error: Error = new RequestError('cancelled')): void {
    this.#end()
    this.#reject(error)
  }

  #end(): void {
    clearTimeout(this.#timer)
    this.#among.cancel(this)
  }
}

const timeOut = (request: PendingRequest): void => request.cancel(new TimeoutError())

type Request = NatsConnection['request']

/** The client's `request` with the same outcomes; what only its own can do is left to that one. */
function leanRequest(connection: NatsConnectionImpl): Request {
  const own: Request = connection.request.bind(connection)
  const { protocol } = connection
  return (subject, data, options) => {
    if (options === undefined || !isUsual(options)) return own(subject, data, options)
    try {
      connection._check(subject, true, true)
    } catch (error) {
      return Promise.reject(error)
    }
    const { timeout, headers } = options
    const request = new PendingRequest(protocol.muxSubscriptions, subject, timeout)
    protocol.request(request)
    try {
      const reply = `${protocol.muxSubscriptions.baseInbox}${request.token}`
      connection.publish(subject, data, headers === undefined ? { reply } : { reply, headers })
    } catch (error) {
      request.cancel(error as Error)
    }
    return request.reply
  }
}

const usualOptions = ['timeout', 'headers']

function isUsual(options: RequestOptions): boolean {
  for (const name in options) if (!usualOptions.includes(name)) return false
  return options.timeout >= 1
}

/** As the client's own `connect`, with reply subjects that nobody can guess. */
export async function connect(options: ConnectionOptions): Promise<NatsConnection> {
  setTransportFactory({ factory: () => new GatheringTransport(), dnsResolveFn: nodeResolveHost })
  const connection = (await NatsConnectionImpl.connect(options)) as NatsConnectionImpl
  // Nothing has been asked yet.
  connection.protocol.muxSubscriptions = new SecretReplies()
  connection.request = leanRequest(connection)
  return connection as NatsConnection
}
