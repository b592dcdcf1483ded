import type { Notice } from '../notifications/message-queue.ts'

/**
 * A topic of SNS puts messages into an envelope, and may be told by another. Further ones are nobody's, and each would be
 * read again.
 */
const maxEnvelopes = 2

/** No object has a longer key, nor a path: what is told of one is nothing to look for. */
const maxKeyBytes = 1_024

type Json = Readonly<Record<string, unknown>>

/**
 * What a message says that S3 put into a queue, by itself, by a topic of SNS or by EventBridge, or another service in S3's
 * words: the places of all objects that it names, whatever happened to them, as a look tells the rest. None where it says
 * that notifications work. Undefined when nobody understands it; whoever can send to the queue chooses what it is.
 */
export function objectsIn(body: string): readonly Notice[] | undefined {
  let json = parsed(body)
  for (let opened = 0; json !== undefined && isEnvelope(json) && opened < maxEnvelopes; opened++)
    json = parsed(textOf(json['Message']) ?? '')
  if (json === undefined) return undefined
  if (json['Event'] === 's3:TestEvent') return []
  if (Array.isArray(json['Records'])) return ofRecords(json['Records'])
  const ofCloud = objectOf(json['notification']) ?? json
  if (typeof ofCloud['event_type'] === 'string') return ofIbm(ofCloud)
  return typeof json['detail-type'] === 'string' ? ofEventBridge(json) : undefined
}

function parsed(text: string): Json | undefined {
  try {
    return objectOf(JSON.parse(text))
  } catch {
    return undefined
  }
}

const isEnvelope = (json: Json): boolean => json['Type'] === 'Notification' && json['Records'] === undefined

function ofRecords(records: readonly unknown[]): readonly Notice[] | undefined {
  const notices: Notice[] = []
  for (const record of records) {
    const { s3, eventTime } = objectOf(record) ?? {}
    const its = objectOf(s3)
    const key = textOf(objectOf(its?.['object'])?.['key'])
    const notice = noticeOf(
      objectOf(its?.['bucket'])?.['name'],
      key === undefined ? undefined : isAsItIs(key, its?.['configurationId']) ? bytesOf(key) : decoded(key),
      eventTime,
    )
    if (notice === undefined) return undefined
    notices.push(notice)
  }
  return notices.filter(mayBeThere)
}

/** Keys are not encoded here. */
function ofEventBridge({ detail, time }: Json): readonly Notice[] | undefined {
  const its = objectOf(detail)
  const key = textOf(objectOf(its?.['object'])?.['key'])
  const notice = noticeOf(objectOf(its?.['bucket'])?.['name'], key === undefined ? key : bytesOf(key), time)
  return notice && [notice].filter(mayBeThere)
}

/** IBM Cloud Object Storage, "Notification format". Keys are not encoded. */
function ofIbm(json: Json): readonly Notice[] | undefined {
  const key = textOf(json['object_name'])
  const notice = noticeOf(json['bucket_name'], key === undefined ? key : bytesOf(key), json['request_time'])
  return notice && [notice].filter(mayBeThere)
}

function noticeOf(bucket: unknown, key: string | undefined, time: unknown): Notice | undefined {
  const timeMs = Date.parse(textOf(time) ?? '')
  if (typeof bucket !== 'string' || key === undefined || Number.isNaN(timeMs)) return undefined
  return { bucket, key, timeMs }
}

const mayBeThere = ({ key }: Notice): boolean => key.length <= maxKeyBytes

/** Encoded as in a form, as Amazon, MinIO and Ceph do it: nothing else is in such a key. */
const encodedKey = /^(?:[\w.~*/+!'()-]|%[0-9A-Fa-f]{2})*$/
/** versitygw gives keys as they are, under names of configurations of its own. */
const ownConfiguration = /^(?:kafka|nats|webhook|rabbitmq)-global$/

const isAsItIs = (key: string, configuration: unknown): boolean =>
  !encodedKey.test(key) || (typeof configuration === 'string' && ownConfiguration.test(configuration))

/** Byte by byte, as latin1: what no UTF-8 is stays what it was. */
const decoded = (key: string): string =>
  key
    .replaceAll('+', ' ')
    .replace(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))

/** UTF-8, as latin1. */
const bytesOf = (text: string): string => Buffer.from(text, 'utf8').toString('latin1')

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

const objectOf = (value: unknown): Json | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : undefined
