import {
  DeliverPolicy,
  type JetStreamClient,
  JetStreamApiError,
  type JsMsg,
  StorageType,
} from '@nats-io/jetstream'
import { NoRespondersError, RequestError, TimeoutError } from '@nats-io/transport-node'

/** Error codes of the JetStream API that decisions are made on. */
export const jetStreamCodes = {
  streamNotFound: 10059,
  streamNameInUse: 10058,
  consumerNotFound: 10014,
  wrongLastSequence: 10071,
  accountStorageFull: 10002,
  serverStorageFull: 10023,
  storageFull: 10047,
  streamFull: 10077,
} as const

export const isApiError = (error: unknown, ...codes: number[]): boolean =>
  error instanceof JetStreamApiError && codes.includes(error.code)

/** The platform's storage is at its limit: waiting helps once something was removed or the limit raised. */
export const isStorageFull = (error: unknown): boolean =>
  isApiError(
    error,
    jetStreamCodes.accountStorageFull,
    jetStreamCodes.serverStorageFull,
    jetStreamCodes.storageFull,
    jetStreamCodes.streamFull,
  )

/** The broker is away, starting or electing: the same request will be answered later. */
export function isTransient(error: unknown): boolean {
  if (error instanceof NoRespondersError || error instanceof TimeoutError) return true
  if (error instanceof RequestError) return true
  const name = error instanceof Error ? error.name : ''
  return name === 'JetStreamNotEnabled' || name === 'JetStreamError' || name === 'ConnectionDrainingError'
}

export const fileStorage = StorageType.File

/** All messages that are the last of their subject, then, with `follow`, each new one until `stop`. */
export async function lastOfEach(
  js: JetStreamClient,
  stream: string,
  filter: string,
  onMessage: (message: JsMsg) => void,
  follow: boolean,
): Promise<{ stop(): Promise<void> }> {
  const consumer = await js.consumers.getPushConsumer(stream, {
    filter_subjects: [filter],
    deliver_policy: DeliverPolicy.LastPerSubject,
  })
  let outstanding = (await consumer.info(true)).num_pending
  const complete = Promise.withResolvers<void>()
  if (outstanding === 0) complete.resolve()
  const messages = await consumer.consume({
    callback: (message) => {
      onMessage(message)
      outstanding -= 1
      if (outstanding === 0) complete.resolve()
    },
  })
  const closed = messages.closed().then((reason) => {
    complete.reject(reason instanceof Error ? reason : new Error('the broker closed the subscription'))
  })
  const stop = async () => {
    await messages.close()
    await closed
  }
  complete.promise.catch(() => undefined)
  if (outstanding > 0) await complete.promise
  if (!follow) await stop()
  return { stop }
}
