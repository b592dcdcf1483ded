import { X509Certificate } from 'node:crypto'
import { existsSync, readFileSync, statfsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isGantryError } from '../../subjects/kit/errors.ts'
import { filesystems } from '../../subjects/filesystems/filesystems.ts'
import { brokenReasons } from '../../subjects/migrations/model/condition-terms.ts'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { shellArgument } from '../../subjects/kit/shell-word.ts'
import { platform } from '../../subjects/platform/platform.ts'
import { files, product, title } from '../../subjects/kit/names.ts'
import { version } from '../../broker/common/version.ts'
import { authoritiesIn, portProblems, problemsIn, storeFolderOf } from '../assembly/configuration.ts'
import type { Session } from '../sign-in/session.ts'
import { firingAlerts, firingFix } from '../commands/firing-alerts.ts'
import { healthOf } from '../commands/health.ts'

/** Something that was looked at, for people who look for what is wrong. */
export interface Check {
  readonly check: string
  readonly result: 'ok' | 'warn' | 'fail'
  readonly detail: string
  /** Unless it is ok. */
  readonly fix?: string
}

const ok = (check: string, detail: string): Check => ({ check, result: 'ok', detail })
const warn = (check: string, detail: string, fix: string): Check => ({ check, result: 'warn', detail, fix })
const fail = (check: string, detail: string, fix: string): Check => ({ check, result: 'fail', detail, fix })

/** Of the disk of the streams: below either, a busy day may fill it. */
const fewFreeBytes = 2 ** 30
const smallFreeShare = 0.1
/** A folder that is followed has a watch; data lakes have tens of thousands. */
const fewWatches = 65_536
/** Connections, files in work and streams of the broker together. */
const fewOpenFiles = 4_096
/** Whoever renews a certificate may need a month. */
const soonMs = 30 * 86_400_000
/** Tokens and signed requests to stores are refused when clocks differ by minutes. */
const largeSkewMs = 5_000

/**
 * What of this host the platform stands on, where its configuration folder is here.
 * @param isUp whether the platform answers, which has its ports then
 */
export async function hostChecks(home: string, env: NodeJS.ProcessEnv, isUp: boolean): Promise<Check[]> {
  const node = ok('Node.js', process.version)
  if (!existsSync(join(home, files.config))) return [node]
  const problems = problemsIn(home)
  return [
    node,
    problems.length === 0
      ? ok('configuration', home)
      : fail('configuration', problems.join('; '), `correct it, then run "${product} config check"`),
    ...(problems.length > 0
      ? []
      : [await portCheck(home, env, isUp), diskCheck(home), ...certificateChecks(home)]),
    ...openFilesCheck(),
    ...watchesCheck(),
  ]
}

async function portCheck(home: string, env: NodeJS.ProcessEnv, isUp: boolean): Promise<Check> {
  if (isUp) return ok('ports', 'in use by the platform')
  const problems = await portProblems(home, env)
  return problems.length === 0
    ? ok('ports', 'free')
    : fail(
        'ports',
        problems.join('; '),
        `stop the programs that use them, or start with "${product} up --port-offset 1000"`,
      )
}

/** A folder, or where it would be made. */
const existingAbove = (folder: string): string =>
  existsSync(folder) ? folder : existingAbove(dirname(folder))

function diskCheck(home: string): Check {
  const folder = storeFolderOf(home)
  const { bsize, bavail, blocks } = statfsSync(existingAbove(folder))
  const free = bsize * bavail
  const detail = `${(free / 2 ** 30).toFixed(1)} GiB free at ${folder}`
  return free < fewFreeBytes || bavail < smallFreeShare * blocks
    ? warn('disk', detail, 'free some space, or move store_dir in messaging.config to a larger disk')
    : ok('disk', detail)
}

const certificate = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/** Of those that are configured here; stores and identity providers are checked when they are called. */
function certificateChecks(home: string): Check[] {
  return (authoritiesIn(home)?.match(certificate) ?? []).map((pem) => {
    const { subject, validToDate } = new X509Certificate(pem)
    const what = `certificate of ${subject.replaceAll('\n', ', ')}`
    const detail = `valid until ${validToDate.toISOString()}`
    const leftMs = validToDate.getTime() - Date.now()
    const fix = 'put the new certificate into the file set in security.ldap.ca-file'
    if (leftMs < 0) return fail(what, `expired at ${validToDate.toISOString()}`, fix)
    return leftMs < soonMs ? warn(what, detail, fix) : ok(what, detail)
  })
}

function openFilesCheck(): Check[] {
  const soft = /^Max open files +(\d+|unlimited)/m.exec(textOf('/proc/self/limits'))?.[1]
  if (soft === undefined) return []
  const detail = `${soft} per process`
  return [
    Number(soft) < fewOpenFiles
      ? warn(
          'open files',
          detail,
          'raise the limit: "ulimit -n 65536", or LimitNOFILE=65536 in a systemd unit',
        )
      : ok('open files', detail),
  ]
}

function watchesCheck(): Check[] {
  const text = textOf('/proc/sys/fs/inotify/max_user_watches').trim()
  if (text === '') return []
  const detail = `at most ${text} watched folders`
  return [
    Number(text) < fewWatches
      ? warn('inotify', detail, 'raise the limit: "sysctl fs.inotify.max_user_watches=1048576"')
      : ok('inotify', detail),
  ]
}

const textOf = (path: string): string => {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

/** What the platform says of itself; what the token may not ask is left out. */
export async function platformChecks(session: Session): Promise<Check[]> {
  const parts = await Promise.all([
    answered('version', versionCheck(session)),
    answered('health', componentChecks(session)),
    answered('stores', storeChecks(session)),
    answered('migrations', migrationChecks(session)),
    answered('alerts', alertChecks(session)),
  ])
  return parts.flat()
}

async function answered(what: string, checks: Promise<Check[]>): Promise<Check[]> {
  try {
    return await checks
  } catch (error) {
    if (isGantryError(error, 'DENIED'))
      return [warn(what, 'not checked: the key has no permission for it', 'use the key of an administrator')]
    if (isGantryError(error))
      return [fail(what, error.message, 'try again, and check the log of the platform')]
    throw error
  }
}

async function versionCheck(session: Session): Promise<Check[]> {
  const { version: its, http } = await session.call(platform.info, {})
  const versions =
    its === version
      ? ok('version', its)
      : warn('version', `platform ${its}, command line ${version}`, `use the command line of ${title} ${its}`)
  const clock = http['platform'] === undefined ? undefined : await clockCheck(http['platform'])
  return [versions, ...(clock === undefined ? [] : [clock])]
}

/** Undefined where its REST server cannot be reached from here. */
async function clockCheck(url: string): Promise<Check | undefined> {
  const before = Date.now()
  const told = await fetch(`${url}/api/v1/ping`, { signal: AbortSignal.timeout(5_000) })
    .then((response) => response.headers.get('date'))
    .catch(() => null)
  if (told === null) return undefined
  // A header has whole seconds.
  const skewMs = Date.parse(told) + 500 - (before + Date.now()) / 2
  const detail = `${Math.abs(skewMs / 1_000).toFixed(0)} s difference from the platform`
  return Math.abs(skewMs) > largeSkewMs
    ? fail('clock', detail, 'synchronize the clocks of both hosts with NTP, for example with chrony')
    : ok('clock', detail)
}

async function componentChecks(session: Session): Promise<Check[]> {
  const { components } = await healthOf(session)
  return components.map(({ name, healthy, message }) =>
    healthy
      ? ok(name, message ?? 'healthy')
      : fail(name, message ?? 'not healthy', `check the log of the component, and run "${product} info"`),
  )
}

async function storeChecks(session: Session): Promise<Check[]> {
  const all = await session.call(filesystems['health-all'], {})
  const ill = all.filter(({ healthy }) => !healthy)
  if (ill.length === 0) return all.length === 0 ? [] : [ok('stores', `${all.length} reachable`)]
  return ill.map(({ fsId, healthReason, cause }) =>
    fail(
      `store ${fsId}`,
      cause ?? healthReason,
      `run "${product} filesystems check-stored ${fsId}" for details`,
    ),
  )
}

/** So many migrations that are blocked are shown; the others are counted. */
const maxBlocked = 5

async function migrationChecks(session: Session): Promise<Check[]> {
  const { overallCount, ...states } = await session.call(migrations.summary, {})
  if (overallCount === 0) return []
  const all = Object.values(states).flatMap((list) => ('migrations' in list ? list.migrations : []))
  const blocked = all.flatMap(({ id, conditions }) => {
    const condition = conditions.find(({ reason }) => brokenReasons.includes(reason))
    return condition === undefined ? [] : [{ id, detail: condition.message }]
  })
  if (blocked.length === 0) return [ok('migrations', 'none is blocked')]
  const more = blocked.length - maxBlocked
  return [
    ...blocked
      .slice(0, maxBlocked)
      .map(({ id, detail }) =>
        fail(`migration ${id}`, detail, `run "${product} migrations get ${shellArgument(id)}" for details`),
      ),
    ...(more > 0
      ? [fail('migrations', `${more} more are blocked`, `run "${product} migrations list" for all`)]
      : []),
  ]
}

async function alertChecks(session: Session): Promise<Check[]> {
  const { worst } = await firingAlerts(session)
  if (worst === undefined) return [ok('alerts', 'none is firing')]
  const found = worst.severity === 'critical' ? fail : warn
  return [found('alerts', worst.text, firingFix)]
}
