import { MuxSubscription, NatsConnectionImpl, setTransportFactory } from '@nats-io/nats-core/internal'
import type { ConnectionOptions, NatsConnection } from '@nats-io/transport-node'
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

/** As the client's own `connect`, with reply subjects that nobody can guess. */
export async function connect(options: ConnectionOptions): Promise<NatsConnection> {
  setTransportFactory({ factory: () => new GatheringTransport(), dnsResolveFn: nodeResolveHost })
  const connection = await NatsConnectionImpl.connect(options)
  // Nothing has been asked yet.
  ;(connection as NatsConnectionImpl).protocol.muxSubscriptions = new SecretReplies()
  return connection
}
