import { type TProperties, type TSchema, Type } from 'typebox'
import { form } from './forms.ts'
import { epochKeyword, type Meanings, meaningsKeyword, meaningsText, usualKeyword } from './json-schema.ts'
import { unprintable } from './unprintable.ts'

/** Longest name of an object: fits a KV key after escaping, and a line of a terminal. */
export const maxNameLength = 128
/** Linux's PATH_MAX is 4096 bytes; each may be percent-encoded to three characters. */
export const maxPathLength = 3 * 4096
/** Longest id of anything that is in a list: a group that a directory names. */
export const maxIdLength = 400
/** Longest free text: a description, a note, a message. */
export const maxTextLength = 2_000
/** Largest page of a list: 1,000 records of a few kB stay below the broker's payload limit. */
export const maxPageLength = 1_000

/** An object without other fields than these. */
export const strict = <P extends TProperties>(properties: P) =>
  Type.Object(properties, { additionalProperties: false })

/** The same with a name, under which the documents describe it once. */
export const model = <P extends TProperties>(title: string, properties: P) =>
  Type.Object(properties, { title, additionalProperties: false })

/** A list, bounded. */
export const list = <S extends TSchema>(items: S, maxItems = maxPageLength) => Type.Array(items, { maxItems })

/** Form of a text that is shown in a line. */
export const oneLine = form(`^[^${unprintable}]*$`, 'one line of text without control characters')

/** Longest name of a property: a few words and a host name, as in fs.azure.account.key.<host>. */
const maxKeyLength = 200

/** Values by free names, bounded. TypeBox keeps nothing of a key's schema but its pattern, so that is where its length is. */
export const record = <S extends TSchema>(values: S, maxProperties: number, description: string) =>
  Type.Record(
    Type.String(form(`^[^${unprintable}]{1,${maxKeyLength}}$`, 'a name without control characters')),
    values,
    {
      maxProperties,
      additionalProperties: false,
      description,
    },
  )

/** Free-form properties, as text by name. */
export const AdditionalProperties = (description: string) =>
  Type.Optional(record(Type.String({ maxLength: maxTextLength }), 100, description))

export const Text = (description: string) => Type.String({ maxLength: maxTextLength, description })

/** What no name has. */
const noName = new RegExp(`[/\\\\%\\[\\];${unprintable}]+`, 'g')

/** Name of an object as its owner chose it: REST clients take . and .. for folders, and nobody sees a blank at an end. */
export const Name = (description: string) =>
  Type.String({
    minLength: 1,
    maxLength: maxNameLength,
    ...form(
      `^(?!\\.{1,2}$)(?! )[^/\\\\%\\[\\];${unprintable}]*[^/\\\\%\\[\\];${unprintable} ]$`,
      'a name without / \\ % [ ] ; and control characters, without spaces at either end, and not . or ..',
      (text) => text.replaceAll(noName, '-').trim().slice(0, maxNameLength),
    ),
    description,
  })

/** Who somebody is, or a group of an identity provider or directory: its text exactly, upper and lower case apart. */
const identifier = (maxLength: number) => (description: string) =>
  Type.String({
    minLength: 1,
    maxLength,
    ...form(`^[^${unprintable}]+$`, 'a text without control characters'),
    description,
  })

/** OpenID Connect allows 255 characters, and where a name comes from stands before it. */
export const Subject = identifier(300)
/** A distinguished name of a directory may be long. */
export const Group = identifier(maxIdLength)

/**
 * A switch, with what holds where it is left out of something new, for forms. It is not JSON Schema's `default`: clients that are generated
 * from that send it, also where the field must not be given.
 */
export const Switch = (usual: boolean, description: string) =>
  Type.Boolean({ description, [usualKeyword]: usual })

/** Said of a field of something that is changed: without it, what was before stays. */
export const asBefore = 'as before'

/** What forms show as that which holds where nothing is chosen. */
export const usually = (usual: string) => (usual === asBefore ? {} : { [usualKeyword]: usual })

/**
 * One of several choices, with what each means.
 * @param about what it is that is chosen
 * @param usual what holds where nothing is chosen: one of the choices, or words such as `as before`
 */
export const OneOf = <const Choices extends Meanings>(
  meanings: Choices,
  { about, usual }: { readonly about?: string; readonly usual?: string } = {},
) => {
  const told = usual === undefined ? [] : [`default: ${usual}`]
  const first = about === undefined ? [] : [[about, ...told].join('; ')]
  const rest = [meaningsText(meanings), ...(about === undefined ? told : [])].join('; ')
  return Type.Enum(Object.keys(meanings) as (keyof Choices & string)[], {
    description: [...first, rest].join('. '),
    [meaningsKeyword]: meanings,
    ...(usual !== undefined && Object.hasOwn(meanings, usual) && usually(usual)),
  })
}

/** Absolute path inside a filesystem; what is not printable is percent-encoded. */
export const Path = (description: string) =>
  Type.String({
    minLength: 1,
    maxLength: maxPathLength,
    ...form('^/[^\\x00]*$', 'an absolute path that begins with / and contains no NUL'),
    description,
  })

const pathSlash = '(?:/|%2[fF])'
const pathByte = '(?:[^/%\\x00]|%(?!00|2[fF])[0-9A-Fa-f]{2})'
/** What stands between two slashes: neither nothing, nor `.`, nor `..`, percent-encoded or not. */
const pathSegment = `(?!(?:\\.|%2[eE]){1,2}(?:${pathSlash}|$))${pathByte}+`

/** A path that a caller gives: one that `pathFromText` takes. Those in replies may come from a store with stranger names. */
export const GivenPath = (description: string) =>
  Type.String({
    minLength: 1,
    maxLength: maxPathLength,
    ...form(
      `^/(?:${pathSegment}(?:${pathSlash}${pathSegment})*${pathSlash}?)?$`,
      'an absolute path that begins with / and contains no NUL and no empty, . or .. segments; write % as %25',
    ),
    description,
  })

/** Name of a time zone; which there are, the platform knows. */
export const TimeZone = (description: string) =>
  Type.String({
    minLength: 1,
    maxLength: 60,
    ...form(
      '^[A-Za-z0-9+:_-]+(?:/[A-Za-z0-9+_-]+)*$',
      'the name of a time zone, such as Europe/Berlin or UTC',
    ),
    description,
  })

/** A UUID. */
export const Uuid = (description: string) => Type.String({ maxLength: 36, description })

/** A subject or a pattern of subjects: tokens of printable characters, `*` for one, `>` for the rest. */
export const SubjectPattern = Type.String({
  minLength: 1,
  maxLength: 255,
  ...form(
    '^(?:\\*|[^\\s.*>]+)(?:\\.(?:\\*|[^\\s.*>]+))*(?:\\.>)?$|^>$',
    'a subject: tokens without spaces, separated by dots; * matches one token, > at the end matches all following tokens',
  ),
  description: 'Subject; * matches one token, > at the end matches all following tokens',
})

/** Moment in time, ISO 8601 in UTC with milliseconds. */
export const Timestamp = (description: string) =>
  Type.String({ maxLength: 32, format: 'date-time', description })

/** Count or size; JavaScript's exact integers reach 8 PiB. */
export const Count = (description: string) =>
  Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description })

/** Milliseconds since 1970 of any moment; what counts from now on or back is a `Count`. */
export const EpochMillis = (description: string, minimum = Number.MIN_SAFE_INTEGER) =>
  Type.Integer({ minimum, maximum: Number.MAX_SAFE_INTEGER, description, [epochKeyword]: true })

/** Counts by their names, with their descriptions. */
export const countFields = <C extends string>(descriptions: Readonly<Record<C, string>>) =>
  Object.fromEntries(
    Object.entries<string>(descriptions).map(([name, description]) => [name, Count(description)]),
  ) as Record<C, ReturnType<typeof Count>>

/** Fields of every list: where the page starts and how long it is. */
export const page = {
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: maxPageLength,
      description: 'Maximum number of items per page; default: 1000',
    }),
  ),
  after: Type.Optional(
    Type.String({ maxLength: maxIdLength, description: 'Id of the last item of the previous page' }),
  ),
}

/** Reply of a command that has nothing to say. */
export const Nothing = strict({})
