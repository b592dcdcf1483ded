import { product } from '../../subjects/kit/names.ts'
import type { ActionPolicy } from '../../subjects/migrations/model/terms.ts'
import type { VerificationLevel } from '../../subjects/migrations/model/verification-terms.ts'

export const countText = (count: number): string => count.toLocaleString('en')

/** `1 file`, `2 files`. */
export const countOf = (count: number, one: string, several = `${one}s`): string =>
  `${countText(count)} ${count === 1 ? one : several}`

/** As a sentence begins. */
export const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

/** A state or reason as people read it: `WAITING_FOR_NEXT_RECURRENCE` becomes `waiting for next recurrence`; one name of the existing product is no word. */
export const wordsOf = (name: string): string =>
  name === 'NONSCHEDULED' ? 'not started' : name.toLowerCase().replaceAll(/[_-]/g, ' ')

/** Fields whose names say too little to whoever does not know the API. */
const labels = new Map(
  Object.entries({
    pub: 'Publish',
    regex: 'Pattern',
    rbac: 'Permission checks',
    stats: 'Statistics',
    sub: 'Subscribe',
    actionPolicy: 'Files that already exist at the target',
    configPath: 'Hive configuration folder',
    exceedingKeys: 'When a user’s roles shrink',
    scanOnly: 'New migrations copy once',
    scanOnlyMigration: 'Copy once',
    listenAndApplySourceChanges: 'Live migrations follow changes',
    recurringMigration: 'Repeat the scan',
    deletionMode: 'Delete at the source when done',
    delayedDeletionPeriod: 'Delay of the deletion at the source',
    metadata: 'File metadata to keep',
    fileSystemId: 'Store name',
    migrationId: 'Migration name',
    fsRoot: 'Root folder',
    fsType: 'Kind of store',
    defaultFS: 'Address (fs.defaultFS)',
    defaultFsOverride: 'Address instead of that of the catalog (fs.defaultFS)',
    fsMountPoint: 'Mount point',
    s3type: 'Kind of S3 service',
    nSecs: 'Seconds',
    what: 'Operation',
    originalPaths: 'Paths',
    ignoreAfterTimestamp: 'Ignore files changed after',
    verificationDepth: 'Depth',
    beforeIsoDateTime: 'Before',
    forSeconds: 'Fires after (seconds)',
    keepFiringForSeconds: 'Resolved after (seconds)',
    windowSeconds: 'Window (seconds)',
    deletedWith: 'Delete together with migration',
  }),
)

/** Words of names that are written in their own way. */
const spelt = new Map(
  'AD API AWS CA Ceph COS CSV GCS GET HDFS HDInsight HTTP IBM ID IDs Java JDBC JSON Kafka Kerberos MiB MinIO MSI OAuth OAuth2 OIDC Oracle OSS P12 PCRE POST R2 S3 SAS SeaweedFS SQL SQS SSL TLS URI URIs URL Wasabi'
    .split(' ')
    .map((word) => [word.toLowerCase(), word]),
)
const written = new Map(
  Object.entries({
    max: 'maximum',
    min: 'minimum',
    hdi: 'HDInsight',
    ms: 'milliseconds',
    db: 'database',
  }),
)

/** A field's name as people read it: `accessKeyId` becomes `Access key ID`. */
export function labelOf(name: string): string {
  const own = labels.get(name)
  if (own !== undefined) return own
  const words = name
    .replaceAll(/[_-]/g, ' ')
    .replaceAll(/(?<=[a-z0-9])[A-Z]/g, ' $&')
    .split(' ')
    .map((word) => word.toLowerCase())
    .map((word) => spelt.get(word) ?? written.get(word) ?? word)
    .join(' ')
  return shownText(capitalized(words))
}

/** A property's name: options are fields, and those of Hadoop's configuration stay as people know them. */
export const propertyLabel = (name: string): string => (name.includes('.') ? name : labelOf(name))

/** Commands in a text: they stay as they are typed. */
const quoted = /(`[^`]*`|"[^"]*")/

/**
 * A text of a contract or of the platform as pages have it. What contracts call a filesystem, after the existing product,
 * is a store here: a bucket is no filesystem to those who have one.
 */
export const shownText = (text: string): string =>
  text
    .split(quoted)
    .map((part, index) =>
      index % 2 === 1
        ? part
        : part.replaceAll(/\bfile ?system(s?)\b/g, 'store$1').replaceAll(/\bFile ?system(s?)\b/g, 'Store$1'),
    )
    .join('')

const advice = new RegExp(`(?:,? starting with| with|: see) "${product} [^"]*"`, 'g')

/** A field that a text begins with, where its name is more than a word: of a word nobody knows that it is a field. */
const leadingField = /^[a-z]+[A-Z]\w*(?= )/

/**
 * What the platform says is wrong: fields are named as forms have them, and the commands of its advice are left out, as
 * beside it stand the buttons that do the same.
 */
export const saidText = (text: string): string =>
  shownText(
    text
      .replace(/^input: /, '')
      .replaceAll(advice, '')
      .replace(leadingField, (name) => labels.get(name) ?? name),
  )

/** A constant, or a name of several words in one; with fewer letters it is a unit, such as `MB` and `KiB`. */
const constant = /^(?:[A-Z][A-Z0-9_]{2,}|(?=.{4})[A-Za-z][a-z]+(?:[A-Z][a-z]+)+)$/

/** One of a contract's own choices in words: `NO_DELETION` becomes `No deletion`; what is words already stays. */
export const optionText = (value: string): string =>
  choices.get(value) ?? (constant.test(value) ? labelOf(value) : value)

/** Choices whose names leave out too much. */
const choices = new Map(
  Object.entries({
    SkipIfSizeMatch: 'Skip if the size is the same',
    SkipIfSizeAndTimeMatch: 'Skip if size and time are the same',
    SkipIfDigestMatch: 'Skip if the content is the same',
    digest: 'content (digest)',
  } satisfies Partial<Record<ActionPolicy | VerificationLevel, string>>),
)

/** Words that say nothing of their own in a name. */
const fillers = new Set(['a', 'an', 'the', 'of', 'id', 'name', 'store'])
const wordsIn = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []

/** What a help says beyond the label above it; undefined where that is nothing. */
export function helpBeyond(label: string, help: string): string | undefined {
  if (repeats(label, help)) return undefined
  const [, first = '', rest = ''] = /^([^(]*) \(([^)]*)\)$/.exec(help) ?? []
  return rest !== '' && repeats(label, first) ? capitalized(rest) : help
}

/** Whether a help says no more than its label: `Name of the rule` below `Rule name`, or below `Name`. */
function repeats(label: string, help: string): boolean {
  const known = new Set(wordsIn(label))
  const rest = wordsIn(help).filter((word) => !fillers.has(word) && !known.has(word))
  const isOnlyName = wordsIn(label).every((word) => fillers.has(word))
  return rest.length === 0 || (isOnlyName && /^(?:\w+ (?:name|id)|(?:name|id) of the \w+)$/i.test(help))
}

/** A text of a field without what it says of the default: for a field that shows it. */
export const withoutDefault = (text: string, usual: string): string =>
  text.replaceAll(/[;,]? default:? ([\w-]+)(?![\w-])/gi, (clause, value: string) =>
    value === usual ? '' : clause,
  )

/** Names of fields, and of choices with several words, as contracts write them; `$HOME` is neither. */
const wireName = /`?(?<!\$)\b([a-z]+[A-Z][a-zA-Z0-9]*|[A-Z]+(?:_[A-Z]+)+)\b`?|`([a-z]+)`/g

/**
 * What a contract says of a field: other fields and choices that it names are named as the form has them.
 * @param choices those of the field
 */
export const describedText = (text: string, choices: readonly string[] = []): string =>
  shownText(text)
    .split(/("[^"]*"|`[^`]* [^`]*`)/)
    .map((part, index) =>
      index % 2 === 1
        ? part
        : part
            .replaceAll(
              wireName,
              (_, compound: string | undefined, word: string) => `“${nameText(compound ?? word)}”`,
            )
            .replaceAll(/\b[A-Z]\w+/g, (word) =>
              choices.includes(word) && optionText(word) !== word ? `“${optionText(word)}”` : word,
            ),
    )
    .join('')
    // What is typed as it stands.
    .replaceAll(/`([^`]*)`/g, '“$1”')

/** A text without the sentences that have some words in them. */
export const textWithout = (text: string, words: RegExp): string =>
  text
    .split(/(?<=\.) /)
    .filter((sentence) => !words.test(sentence))
    .join(' ')

/** What a contract says to whoever adds something, without what goes for changes and for the replies of the API. */
export const addingText = (text: string): string =>
  textWithout(text, /stay unchanged|cannot be changed|in the reply/)

const nameText = (name: string): string => (/[a-z]/.test(name) ? labelOf(name) : optionText(name))

export const localTime = (timestamp: string): string =>
  new Date(timestamp).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' })

export const localDay = (timestamp: string): string =>
  new Date(timestamp).toLocaleDateString(undefined, { dateStyle: 'medium' })

export const utcTime = (timestamp: string): string =>
  new Date(timestamp)
    .toISOString()
    .replace('T', ' ')
    .replace(/\.\d+Z$/, ' UTC')

const spans = [
  [86_400, 'd'],
  [3_600, 'h'],
  [60, 'min'],
  [1, 's'],
] as const

/** Seconds as the two largest units: `2 h 5 min`. */
export function durationText(seconds: number): string {
  if (seconds > 0 && seconds < 0.5) return `${Math.round(seconds * 1_000)} ms`
  let left = Math.round(seconds)
  const parts = spans.flatMap(([length, unit]) => {
    const count = Math.floor(left / length)
    left -= count * length
    return count === 0 ? [] : [`${count} ${unit}`]
  })
  return parts.slice(0, 2).join(' ') || '0 s'
}

/** What tells a series from the others of its metric: where that is one label, its value says enough. */
export function seriesName(
  labels: Readonly<Record<string, string>>,
  names: Readonly<Record<string, string>>,
): string | undefined {
  const pairs = Object.entries(labels)
  const [first] = pairs
  if (first === undefined) return undefined
  return pairs.length === 1 ? (names[first[1]] ?? first[1]) : pairs.map((pair) => pair.join(' ')).join(', ')
}

/** What was done, of the words that a button or a dialog has for it. */
export function doneText(title: string): string {
  const [verb = '', ...rest] = title.split(' ')
  const past = pasts[verb]
  return past === undefined ? `Requested: ${title}` : [past, ...rest].join(' ')
}

const pasts: Readonly<Record<string, string>> = {
  Add: 'Added',
  Approve: 'Approved',
  Assign: 'Assigned',
  Change: 'Changed',
  Create: 'Created',
  Move: 'Moved',
  Pause: 'Paused',
  Register: 'Registered',
  Rename: 'Renamed',
  Reset: 'Reset',
  Resume: 'Resumed',
  Rotate: 'Rotated',
  Sign: 'Signed',
  Start: 'Started',
  // What is under way is finished first.
  Stop: 'Stopping',
}
