import type { Notice } from '../notifications/message-queue.ts'

/** "Pub/Sub notifications for Cloud Storage": what is archived is no longer the current version, or no version is any more. */
const changes = ['OBJECT_FINALIZE', 'OBJECT_DELETE', 'OBJECT_METADATA_UPDATE', 'OBJECT_ARCHIVE']

/**
 * What the attributes of a message of Cloud Storage say; undefined where it is no such message. Whether it has a payload is
 * all the same. Never throws.
 * @param body the attributes as JSON, as `Subscription` gives them
 */
export function noticesOf(body: string): readonly Notice[] | undefined {
  let attributes: Readonly<Record<string, unknown>>
  try {
    attributes = (JSON.parse(body) ?? {}) as typeof attributes
  } catch {
    return undefined
  }
  const { bucketId, objectId, eventType, eventTime } = attributes
  if (typeof bucketId !== 'string' || typeof objectId !== 'string' || typeof eventType !== 'string')
    return undefined
  if (!changes.includes(eventType)) return undefined
  const givenMs = typeof eventTime === 'string' ? Date.parse(eventTime) : Number.NaN
  const key = Buffer.from(objectId).toString('latin1')
  return [{ bucket: bucketId, key, timeMs: Number.isNaN(givenMs) ? Date.now() : givenMs }]
}
