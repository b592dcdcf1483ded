import { setTimeout as delay } from 'node:timers/promises'
import {
  AckPolicy,
  type BatchCallback,
  type ConsumerConfig,
  DeliverPolicy,
  type DirectBatchOptions,
  type JetStreamClient,
  JetStreamApiError,
  JetStreamError,
  type JetStreamManager,
  jetstreamManager,
  type JsMsg,
  StorageType,
  type StoredMsg,
  type StreamConfig,
  type StreamInfo,
} from '@nats-io/jetstream'
import {
  type Msg,
  type NatsConnection,
  NoRespondersError,
  RequestError,
  TimeoutError,
} from '@nats-io/transport-node'
import { createInbox } from '../../subjects/kit/unguessable.ts'

/** Error codes of the JetStream API that decisions are made on. */
export const jetStreamCodes = {
  streamNotFound: 10059,
  streamNameInUse: 10058,
  /** Its store cannot be made: the disk refuses, or somebody else makes the same stream at this moment. */
  streamNotMade: 10049,
  consumerNotFound: 10014,
  /** Its store cannot be made: the disk refuses, or what is stored of one with this name is damaged. */
  consumerNotMade: 10012,
  /** It is there, and the server cannot read what it has stored about it or its consumers. */
  streamOffline: 10194,
  consumerOffline: 10195,
  wrongLastSequence: 10071,
  accountStorageFull: 10002,
  serverStorageFull: 10023,
  storageFull: 10047,
  streamFull: 10077,
} as const

export const isApiError = (error: unknown, ...codes: number[]): boolean =>
  error instanceof JetStreamApiError && codes.includes(error.code)

/** The answer to a direct question for messages when there is none: a status, and no error of the API. */
const isNotFound = (error: unknown): boolean =>
  error instanceof JetStreamError && 'code' in error && error.code === 404

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

/** Makes a stream, or gives the one that is there what has changed in its configuration since, such as its limits. */
export async function ensureStream(
  manager: JetStreamManager,
  config: Partial<StreamConfig> & Pick<StreamConfig, 'name'>,
): Promise<void> {
  try {
    await untilMade(() => manager.streams.add(config))
  } catch (error) {
    if (!isApiError(error, jetStreamCodes.streamNameInUse)) throw error
    await manager.streams.update(config.name, config)
  }
}

/**
 * Makes a stream that is empty, or finds the one that is there. While nats-server (2.15.1) removes the files of a deleted
 * stream, one of the same name that is deleted as well leaves its messages, and whoever makes the next gets them.
 */
export function openStream(
  manager: JetStreamManager,
  config: Partial<StreamConfig> & Pick<StreamConfig, 'name'>,
): Promise<StreamInfo> {
  return untilMade(async () => {
    const isThere = await hasStream(manager, config.name)
    const made = await manager.streams.add(config)
    if (isThere || made.state.last_seq === 0) return made
    await manager.streams.delete(config.name)
    return undefined
  })
}

/** Deletes a stream of which nothing may come back; see `openStream`. */
export async function eraseStream(manager: JetStreamManager, name: string): Promise<void> {
  await manager.streams.purge(name)
  await manager.streams.delete(name)
}

async function hasStream(manager: JetStreamManager, name: string): Promise<boolean> {
  try {
    await manager.streams.info(name)
    return true
  } catch (error) {
    if (isApiError(error, jetStreamCodes.streamNotFound)) return false
    throw error
  }
}

/** Somebody else makes the stream in some milliseconds; files are removed in a second or two where they are many. */
const [makingAttempts, makingPauseMs] = [20, 20]

/** Tries again what is undefined, and what fails as the stream is being made or removed. */
export async function untilMade<T>(make: () => Promise<T | undefined>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      const made = await make()
      if (made !== undefined) return made
      if (attempt === makingAttempts)
        throw new Error('the files of a deleted stream were not removed in time')
    } catch (error) {
      if (!isApiError(error, jetStreamCodes.streamNotMade) || attempt === makingAttempts) throw error
    }
    await delay(attempt * makingPauseMs)
  }
}

/**
 * So much is asked for with one request; for more a reader is made, which costs three, and is quicker for each message.
 * Nearly all buckets are small.
 */
const few = { batch: 100, max_bytes: 1024 * 1024 } as const
/** Messages asked for at once; a page of a list is no longer. */
const snapshotBatch = 1_000
/** The server answers at once with what it has; without any answer it is away. */
const snapshotTimeoutMs = 5_000
/** How long the server keeps a reader whose process died. */
const abandonedReaderNs = 10e9

/** A message of a stream, whichever way it came. */
export interface LastMessage {
  readonly subject: string
  readonly headers?: Msg['headers']
  string(): string
}

/** The same with its place in the stream. */
export interface PlacedMessage extends LastMessage {
  readonly sequence: number
}

/**
 * Hands over the last message of each subject of a stream that keeps one of each, as they are now. A message that is
 * replaced or purged meanwhile may be told in its new form or not at all; none is missed or waited for.
 */
export async function lastOfEach(
  connection: NatsConnection,
  stream: string,
  filter: string,
  onMessage: (message: PlacedMessage) => void,
): Promise<void> {
  const found = await lastFew(connection, stream, filter)
  if (found === undefined) {
    return readLast(connection, stream, filter, (message) =>
      onMessage(placed(message.subject, message.headers, sequenceOf(message), message)),
    )
  }
  for (const message of found) onMessage(placedOf(message))
}

/** A message as it is stored, with its place. */
export const placedOf = (message: StoredMsg): PlacedMessage =>
  placed(message.subject, message.header, message.seq, message)

const placed = (
  subject: string,
  headers: Msg['headers'],
  sequence: number,
  body: Pick<Msg, 'string'>,
): PlacedMessage => ({ subject, headers, sequence, string: () => body.string() })

/** The last message of each subject; undefined when there are many, and when the broker refuses to say: a reader tells the reason. */
export async function lastFew(
  connection: NatsConnection,
  stream: string,
  filter: string,
): Promise<StoredMsg[] | undefined> {
  const manager = await jetstreamManager(connection, { checkAPI: false })
  try {
    const found = await storedMessages(manager, stream, { seq: 1, next_by_subj: filter, ...few })
    return (found.at(-1)?.pending ?? 0) === 0 ? found : undefined
  } catch (error) {
    if (error instanceof TimeoutError) throw error
    return undefined
  }
}

/** The same by a reader; `headersOnly` leaves the rest of the messages empty. */
export async function readLast(
  connection: NatsConnection,
  stream: string,
  filter: string,
  onMessage: (message: Msg) => void,
  { headersOnly = false }: { headersOnly?: boolean } = {},
): Promise<void> {
  await reading(
    connection,
    stream,
    {
      filter_subject: filter,
      deliver_policy: DeliverPolicy.LastPerSubject,
      headers_only: headersOnly,
    },
    onMessage,
  )
}

/**
 * Hands over the messages of some subjects that are in a stream, in order.
 * @param first sequence to begin with
 */
export async function readFrom(
  connection: NatsConnection,
  stream: string,
  { filters, first }: { readonly filters: readonly string[]; readonly first: number },
  onMessage: (message: Msg) => void,
): Promise<void> {
  await reading(
    connection,
    stream,
    {
      filter_subjects: [...filters],
      deliver_policy: DeliverPolicy.StartSequence,
      opt_start_seq: first,
    },
    onMessage,
  )
}

/** Hands over what a reader of these messages finds, up to the last that is there. */
async function reading(
  connection: NatsConnection,
  stream: string,
  of: Partial<ConsumerConfig>,
  onMessage: (message: Msg) => void,
): Promise<void> {
  const manager = await jetstreamManager(connection, { checkAPI: false })
  const { name } = await manager.consumers.add(stream, {
    ...of,
    ack_policy: AckPolicy.None,
    mem_storage: true,
    num_replicas: 1,
    inactive_threshold: abandonedReaderNs,
  })
  try {
    while ((await readBatch(connection, stream, name, onMessage)) === snapshotBatch);
  } finally {
    // Its end is not waited for: were it to fail, the server forgets the reader by itself.
    manager.consumers.delete(stream, name).catch(() => undefined)
  }
}

/**
 * The first messages of a stream that a query asks for, none when there are none.
 * @param query where it sets `max_bytes`, the message that reaches it is the last
 */
export const storedMessages = (
  manager: JetStreamManager,
  stream: string,
  query: DirectBatchOptions,
): Promise<StoredMsg[]> => collected((callback) => manager.direct.getBatch(stream, { ...query, callback }))

/** The last messages of some subjects, 1,024 at most: the server answers no more at once. */
export async function lastOfThese(
  connection: NatsConnection,
  stream: string,
  subjects: readonly string[],
): Promise<StoredMsg[]> {
  if (subjects.length === 0) return []
  const manager = await jetstreamManager(connection, { checkAPI: false })
  const query = { multi_last: [...subjects] }
  return collected((callback) => manager.direct.getLastMessagesFor(stream, { ...query, callback }))
}

/** All messages of a query. The client would keep the subscription for ever without a callback. */
async function collected(
  ask: (callback: BatchCallback<StoredMsg>) => Promise<{ stop(): void }>,
): Promise<StoredMsg[]> {
  const found: StoredMsg[] = []
  const end = Promise.withResolvers<void>()
  const timer = setTimeout(() => end.reject(new TimeoutError()), snapshotTimeoutMs)
  const batch = await ask((done, message) => {
    if (done === null) {
      found.push(message)
      timer.refresh()
    } else if (done.err === undefined || isNotFound(done.err)) end.resolve()
    else end.reject(done.err)
  })
  try {
    await end.promise
  } finally {
    clearTimeout(timer)
    batch.stop()
  }
  return found
}

/** The subjects that a stream has messages of; none of the messages is read. */
export async function subjectsOf(
  connection: NatsConnection,
  stream: string,
  filter: string,
): Promise<string[]> {
  const manager = await jetstreamManager(connection, { checkAPI: false })
  const { state } = await manager.streams.info(stream, { subjects_filter: filter })
  return Object.keys(state.subjects ?? {})
}

/** The number of messages in a stream. */
export async function messageCount(connection: NatsConnection, stream: string): Promise<number> {
  const manager = await jetstreamManager(connection, { checkAPI: false })
  return (await manager.streams.info(stream)).state.messages
}

/**
 * Where a message that a consumer delivered is in its stream: $JS.ACK.<stream>.<consumer>.<deliveries>.<stream sequence>…,
 * with the domain and the account before the stream where there are more than nine tokens.
 */
export function sequenceOf({ reply = '' }: Pick<Msg, 'reply'>): number {
  const tokens = reply.split('.')
  return Number(tokens[tokens.length > 9 ? 7 : 5])
}

/** When a message that a consumer delivered was stored, in whole milliseconds since 1970; see `sequenceOf`. */
export function storedMsOf({ reply = '' }: Pick<Msg, 'reply'>): number {
  const tokens = reply.split('.')
  return Math.floor(Number(tokens[tokens.length > 9 ? 9 : 7]) / 1e6)
}

/** Number of messages that were there, at most a batch. */
async function readBatch(
  connection: NatsConnection,
  stream: string,
  consumer: string,
  onMessage: (message: Msg) => void,
): Promise<number> {
  const inbox = createInbox()
  const end = Promise.withResolvers<number>()
  let count = 0
  const timer = setTimeout(() => end.reject(new TimeoutError()), snapshotTimeoutMs)
  const subscription = connection.subscribe(inbox, {
    callback: (error, message) => {
      if (error !== null) return end.reject(error)
      // A status instead of a message: there are no more.
      if (!message.reply) return end.resolve(count)
      try {
        onMessage(message)
      } catch (fault) {
        return end.reject(fault)
      }
      count += 1
      if (count === snapshotBatch) end.resolve(count)
    },
  })
  try {
    const request = JSON.stringify({ batch: snapshotBatch, no_wait: true })
    connection.publish(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${consumer}`, request, { reply: inbox })
    return await end.promise
  } finally {
    clearTimeout(timer)
    subscription.unsubscribe()
  }
}

/** Hands over the last message of each subject, then each new one until `stop`, over restarts of the broker. */
export async function followLast(
  js: JetStreamClient,
  stream: string,
  filter: string,
  onMessage: (message: JsMsg) => void,
): Promise<{ stop(): Promise<void> }> {
  const consumer = await js.consumers.getPushConsumer(stream, {
    filter_subjects: [filter],
    deliver_policy: DeliverPolicy.LastPerSubject,
  })
  const messages = await consumer.consume({ callback: onMessage })
  return {
    stop: async () => {
      await messages.close()
    },
  }
}
