import type { Notice } from '../notifications/message-queue.ts'

const subjectForm = /^\/blobServices\/default\/containers\/([^/]+)\/blobs\/(.+)$/s

/** Of a folder, these tell of all that is below it, too. */
const treeTypes = ['DirectoryDeleted', 'DirectoryRenamed']
const changes = ['BlobCreated', 'BlobDeleted', 'BlobRenamed', 'DirectoryCreated', ...treeTypes]

/**
 * What a message of Event Grid says, in its own schema or as CloudEvents 1.0, in base64 or as it is; undefined where it is no
 * such message. From "Azure Blob Storage as an Event Grid source". Never throws.
 */
export function noticesOf(text: string): readonly Notice[] | undefined {
  const json = readJson(/^\s*[[{]/.test(text) ? text : Buffer.from(text, 'base64').toString('utf8'))
  const events = Array.isArray(json) ? json : [json]
  const notices: Notice[] = []
  for (const event of events) {
    const its = noticesIn(membersOf(event))
    if (its === undefined) return undefined
    notices.push(...its)
  }
  return notices
}

type Members = Readonly<Record<string, unknown>>

function noticesIn(event: Members): Notice[] | undefined {
  // CloudEvents have other names for the same.
  const type = event['eventType'] ?? event['type']
  const time = event['eventTime'] ?? event['time']
  if (typeof type !== 'string' || !type.startsWith('Microsoft.')) return undefined
  const what = type.replace('Microsoft.Storage.', '')
  // Others, such as of a tier that was changed, change no content.
  return changes.includes(what) ? noticesAbout(event, what, time) : []
}

/**
 * What a record of the change feed says; undefined where nobody understands it. Its fields are those of an event, and it tells
 * of metadata, properties and tiers, too. Never throws.
 */
export function noticesOfRecord(record: unknown): readonly Notice[] | undefined {
  const event = membersOf(record)
  const { eventType, eventTime } = event
  if (typeof eventType !== 'string') return undefined
  // By these the service talks to itself.
  return eventType === 'Control' ? [] : noticesAbout(event, eventType, eventTime)
}

/** @param what the type, as both name it */
function noticesAbout(event: Members, what: string, time: unknown): Notice[] | undefined {
  const place = typeof event['subject'] === 'string' ? subjectForm.exec(event['subject']) : null
  const [, bucket, path] = place ?? []
  if (bucket === undefined || path === undefined) return undefined
  const givenMs = typeof time === 'string' ? Date.parse(time) : Number.NaN
  const shared = { timeMs: Number.isNaN(givenMs) ? Date.now() : givenMs, isTree: treeTypes.includes(what) }
  const notices = namesOf(path).map((name) => noticeOf(bucket, name, shared))
  if (!what.endsWith('Renamed')) return notices
  const data = membersOf(event['data'])
  for (const url of [data['sourceUrl'], data['destinationUrl']]) {
    const [container, ...names] = placesIn(url)
    if (container === undefined) return undefined
    notices.push(...names.map((name) => noticeOf(container, name, shared)))
  }
  return notices
}

/** Whether names are percent-encoded is not documented: both readings are looked at, which costs a request if one is wrong. */
function namesOf(path: string): string[] {
  try {
    return [...new Set([path, decodeURIComponent(path)])]
  } catch {
    return [path]
  }
}

/** The container, then the names that the blob or folder at a URL may have; nothing where it is no such URL. */
function placesIn(url: unknown): readonly string[] {
  const [, container, path] =
    typeof url === 'string' ? (/^https?:\/\/[^/]+\/([^/]+)\/(.+)$/s.exec(url) ?? []) : []
  return container === undefined || path === undefined ? [] : [container, ...namesOf(path)]
}

/** Event Grid puts this in the place of characters outside of Unicode's basic plane: which name it was is not known. */
const unknownCharacter = '\ufffd'

function noticeOf(
  bucket: string,
  name: string,
  { timeMs, isTree }: { readonly timeMs: number; readonly isTree: boolean },
): Notice {
  const at = name.indexOf(unknownCharacter)
  const known = at === -1 ? name : name.slice(0, Math.max(0, name.lastIndexOf('/', at)))
  const key = Buffer.from(known).toString('latin1')
  return { bucket, key, timeMs, ...((isTree || at !== -1) && { isTree: true }) }
}

const membersOf = (value: unknown): Members =>
  typeof value === 'object' && value !== null ? (value as Members) : {}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
