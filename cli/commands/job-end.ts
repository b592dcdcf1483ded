import type { Contract, Input, Output } from '../../subjects/kit/contract.ts'
import { fieldsOf, jsonSchema } from '../../subjects/kit/json-schema.ts'
import { hasEnded, type JobStatus } from '../../subjects/migrations/model/jobs.ts'
import type { Row } from '../output/fields.ts'
import { countText, valueText } from '../output/format.ts'
import { ProgressLine } from '../output/progress-line.ts'
import { kebab } from '../output/shape.ts'
import type { Terminal } from '../output/terminal.ts'
import { views } from '../output/views.ts'
import type { Session } from '../sign-in/session.ts'

/** Between two looks at what goes on; a job counts about as often. */
const intervalMs = 500

/** A job as it has ended; until then its figures are shown. @param get shows it */
export async function endedJob<C extends Contract>(
  session: Pick<Session, 'call'>,
  terminal: Terminal,
  job: Output<C>,
  get: C,
  input: Input<C>,
): Promise<Output<C>> {
  using line = new ProgressLine(terminal)
  const look = () => session.call(get, input)
  // Only jobs are waited for.
  return await followed(job, look, (now) => (hasEnded(now) ? undefined : progressText(get, now)), line)
}

/**
 * A reply as it is once it has left a state; a list of such once all have. Until then the one that is waited for is shown.
 * @param get shows one, by the field `by`
 */
export async function endedState(
  session: Pick<Session, 'call'>,
  terminal: Terminal,
  reply: unknown,
  get: Contract,
  { by, field, is }: { readonly by: string; readonly field: string; readonly is: string },
): Promise<unknown> {
  using line = new ProgressLine(terminal)
  const ended = (one: Row) => {
    const look = async () => (await session.call(get, { [by]: one[by] })) as Row
    return followed(one, look, (now) => (now[field] === is ? `${String(one[by])} is ${is}` : undefined), line)
  }
  if (!Array.isArray(reply)) return await ended(reply as Row)
  const all: Row[] = []
  for (const one of reply as Row[]) all.push({ ...one, [field]: (await ended(one))[field] })
  return all
}

/** What goes on, once it has ended. @param goingOn what is shown meanwhile; undefined when it has ended */
async function followed<T>(
  first: T,
  look: () => Promise<T>,
  goingOn: (now: T) => string | undefined,
  line: ProgressLine,
): Promise<T> {
  let now = first
  for (let text = goingOn(now); text !== undefined; text = goingOn(now)) {
    line.show(text)
    await new Promise((resolve) => setTimeout(resolve, intervalMs))
    now = await look()
  }
  return now
}

const statusTexts: Readonly<Record<JobStatus, string>> = {
  QUEUED: 'waiting for its turn',
  IN_PROGRESS: 'in progress',
  COMPLETE: 'complete',
  CANCELLED: 'cancelled',
}

/** `verification: 1,200 files on source, 1,100 files on target, 0 discrepancies` */
function progressText({ output }: Contract, job: Row & { readonly status: JobStatus }): string {
  const { title = '' } = jsonSchema(output)
  const fields = fieldsOf(output)
  const names = job.status === 'QUEUED' ? [] : (views[title]?.onceStarted ?? [])
  const figures = names.flatMap((name) => {
    const value = job[name]
    if (typeof value !== 'number') return []
    const isSize = name.startsWith('bytes')
    if (isSize) return [`${valueText(value, name, fields[name])} ${words(name.slice('bytes'.length))}`]
    return [`${countText(value)} ${value === 1 ? singular(words(name)) : words(name)}`]
  })
  const isCounting = figures.length > 0
  const head = isCounting ? words(title) : `${words(title)} ${statusTexts[job.status]}`
  return isCounting ? `${head}: ${figures.join(', ')}` : head
}

const words = (name: string): string =>
  kebab(name)
    .replace(/^total-/, '')
    .replaceAll('-', ' ')
    .trim()

/** `files on source` as `file on source`: the first word is what is counted. */
const singular = (text: string): string =>
  text.replace(/^(\w+?)(ies|s)\b/, (_, stem: string, end: string) => stem + (end === 'ies' ? 'y' : ''))
