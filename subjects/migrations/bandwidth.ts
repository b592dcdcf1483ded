import { type Static, Type } from 'typebox'
import { resource } from '../kit/contract.ts'
import { choice, form } from '../kit/forms.ts'
import { list, model, Name, strict, Text, TimeZone } from '../kit/schemas.ts'

/** What a policy is about: all that is moved, one migration, all migrations to a target, or one transfer agent. */
export const bandwidthScopes = ['global', 'migration', 'target', 'agent'] as const
export type BandwidthScope = (typeof bandwidthScopes)[number]

/** Stands for the absence of a limit, as in the existing product. */
export const unlimited = -1

const prefixes = ['K', 'M', 'G', 'T', 'P', 'E', 'Z', 'Y']

/** Bytes in a unit: KB, MB … by thousands, KiB, MiB … by 1024. */
export const bandwidthUnits: Readonly<Record<string, number>> = Object.fromEntries([
  ['B', 1],
  ...prefixes.map((prefix, index) => [`${prefix}B`, 1_000 ** (index + 1)] as const),
  ...prefixes.map((prefix, index) => [`${prefix}iB`, 1_024 ** (index + 1)] as const),
])

/** @param number what is given, in words */
const Limit = (description: string, number = 'a whole number of at least 1') =>
  // Nothing at all would be a stop: that is a command of migrations.
  Type.Union(
    [Type.Literal(unlimited), Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })],
    choice(description, `${number}, or ${unlimited} for no limit`),
  )

const limits = {
  limitBytesPerSecond: Limit('Bytes per second; -1 for no limit'),
  limitRequestsPerSecond: Limit('Files, links, folders and parts of large files per second; -1 for no limit'),
}

export const weekdays = ['MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT', 'SUN'] as const
export type Weekday = (typeof weekdays)[number]

const timeOfDay = '(?:[01]\\d|2[0-3]):[0-5]\\d'

const Window = strict({
  days: Type.Optional(list(Type.Enum(weekdays), weekdays.length)),
  from: Type.String({
    ...form(`^${timeOfDay}$`, 'a time of day from 00:00 to 23:59, such as 08:30'),
    description: 'Start, in hours and minutes',
  }),
  to: Type.String({
    ...form(`^(?:${timeOfDay}|24:00)$`, 'a time of day from 00:00 to 24:00, such as 17:30'),
    description: 'End, in hours and minutes; if not after the start, it is on the next day',
  }),
  limitBytesPerSecond: Type.Optional(limits.limitBytesPerSecond),
  limitRequestsPerSecond: Type.Optional(limits.limitRequestsPerSecond),
})
export type BandwidthWindow = Static<typeof Window>

/** More windows than a week has days and hours that people tell apart. */
const maxWindows = 100

const Schedule = model('BandwidthSchedule', {
  timeZone: TimeZone('Time zone of the windows, such as Europe/Berlin or UTC'),
  windows: list(Window, maxWindows),
})
export type BandwidthSchedule = Static<typeof Schedule>

const BandwidthPolicy = model('BandwidthPolicy', {
  id: Type.String({ maxLength: 150, description: 'Scope and name' }),
  description: Text('What the limit applies to, in words'),
  scope: Type.Enum(bandwidthScopes),
  name: Type.Optional(Name('Name of the migration, target or transfer agent')),
  ...limits,
  schedule: Type.Optional(Schedule),
  now: strict(limits),
})
export type BandwidthPolicy = Static<typeof BandwidthPolicy>

/** Whether a policy is as if there were none: the global one is listed though nobody has set it. */
export const limitsNothing = ({
  limitBytesPerSecond,
  limitRequestsPerSecond,
  schedule,
}: Partial<Pick<BandwidthPolicy, 'limitBytesPerSecond' | 'limitRequestsPerSecond' | 'schedule'>>): boolean =>
  limitBytesPerSecond === unlimited && limitRequestsPerSecond === unlimited && schedule === undefined

const scope = Type.Enum(bandwidthScopes, { description: 'What the limit applies to' })
const name = Type.Optional(Name('Name of the migration, target or transfer agent; omit for the global limit'))
const place = { scope, name }

/** There is one global limit, without a name. */
const global = { bind: { scope: 'global' }, omit: ['name'] } as const

/** The paths of one policy. */
const routes = (method: 'GET' | 'PUT' | 'DELETE') =>
  [
    { method, path: '/api/v1/bandwidth/global', ...global },
    { method, path: '/api/v1/bandwidth/migrations/{name}', bind: { scope: 'migration' } },
    { method, path: '/api/v1/bandwidth/targets/{name}', bind: { scope: 'target' } },
    { method, path: '/api/v1/bandwidth/agents/{name}', bind: { scope: 'agent' } },
  ] as const

const audit = { object: 'id' } as const

/** Limits on what is moved. The narrowest of those that hold for a migration, and for who moves it, counts; a change holds at once. */
export const bandwidth = resource('bandwidth', {
  list: {
    summary: 'List the limits on bandwidth and requests',
    input: strict({}),
    output: list(BandwidthPolicy),
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/bandwidth' }],
    cli: {
      columns: [
        'scope',
        'name',
        'limitBytesPerSecond',
        'limitRequestsPerSecond',
        'now.limitBytesPerSecond',
        'now.limitRequestsPerSecond',
      ],
    },
  },
  get: {
    summary: 'Show a limit (-1: no limit)',
    input: strict(place),
    output: BandwidthPolicy,
    errors: [],
    http: routes('GET'),
    cli: { args: ['scope', 'name'], example: 'gantry bandwidth get global' },
  },
  set: {
    summary: 'Limit bandwidth or requests globally, for a migration, to a target or of a transfer agent',
    description:
      'Omitted values stay unchanged. A schedule sets limits by time of day: the first matching window applies. Outside all windows, or if the window does not set a value, the plain limit applies. An empty list of windows removes the schedule.',
    input: strict({
      ...place,
      limit: Type.Optional(
        Limit(
          'Amount per second, in units; -1 for no limit',
          'a whole number of at least 1, with a separate unit (limit 10, unit MiB)',
        ),
      ),
      unit: Type.Optional(
        Type.Enum(Object.keys(bandwidthUnits), { description: 'Unit of the limit; required with limit' }),
      ),
      requests: Type.Optional(limits.limitRequestsPerSecond),
      schedule: Type.Optional(Schedule),
    }),
    output: BandwidthPolicy,
    errors: ['NOT_FOUND'],
    audit: { ...audit, details: ['scope', 'name', 'limit', 'unit', 'requests', 'schedule'] },
    http: routes('PUT'),
    cli: { args: ['scope', 'name'], example: 'gantry bandwidth set migration nightly --limit 50 --unit MiB' },
  },
  delete: {
    summary: 'Remove a limit',
    input: strict(place),
    output: BandwidthPolicy,
    errors: [],
    audit: { ...audit, details: ['scope', 'name'] },
    http: routes('DELETE'),
    cli: { args: ['scope', 'name'], example: 'gantry bandwidth delete target lake' },
  },
})
