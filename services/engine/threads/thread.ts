import { parentPort, workerData } from 'node:worker_threads'
import type { Driver, Upload } from '../../drivers/contract/driver.ts'
import { endDriversJob, startDrivers } from '../../drivers/threads.ts'
import { withinJob } from '../../drivers/http/job-signal.ts'
import { UntilDone } from '../../drivers/uploads/until-done.ts'
import { type ChildBatch, Children } from '../items/children.ts'
import { Credit } from './credit.ts'
import { decodeItem } from '../items/item-decode.ts'
import { finishFolders } from '../scan/finish-folders.ts'
import { malformed, type Item, writtenFolders } from '../items/items.ts'
import type { Batch, FromThread, Job, Reply, ToThread } from './jobs.ts'
import { beginLarge, commitLarge, copyLargeWhole, copyPart, skipLarge } from '../copy/large.ts'
import { MeterView } from '../run/meter.ts'
import { OpenDrivers } from './open-drivers.ts'
import { Pace } from '../run/pace.ts'
import type { Rules } from '../run/rules.ts'
import { reconcile } from '../reconcile/reconcile.ts'
import { renameAtTarget } from '../reconcile/rename.ts'
import {
  asSource,
  asTarget,
  atTarget,
  boundsOf,
  openSpec,
  storePath,
  sweep,
  type MoveSpec,
  type Run,
} from '../run/run.ts'
import { asksRules, sourcePlace } from '../run/places.ts'
import { Stop } from '../run/stop.ts'
import type { ThreadData } from './engine-thread.ts'
import { scan } from '../scan/scan.ts'
import { sendableError } from '../../drivers/contract/sent-error.ts'
import { transfer } from '../copy/transfer.ts'
import { Cleaner } from '../walk/clean.ts'
import { Comparer } from '../walk/compare.ts'
import { Matcher } from '../walk/match.ts'
import { Planner } from '../walk/plan.ts'
import { type Judge, walk } from '../walk/walk.ts'

/** Entry point of a worker thread of the engine: does the jobs that `ThreadPool` sends it. */

interface RunningJob {
  readonly id: number
  readonly stop: Stop
  readonly credit: Credit
}

const port = parentPort
if (port === null) throw new Error('this file is the entry point of a worker thread')

const threadData = workerData as ThreadData
const { bounds, graceMs } = threadData
await startDrivers(threadData)
const drivers = new OpenDrivers(bounds)
const running = new Map<number, RunningJob>()
/** By the target: what is away delays nothing of others. */
const abandoned = new WeakMap<Driver, UntilDone>()

port.on('message', (message: ToThread) => {
  switch (message.type) {
    case 'job':
      void start(message.id, message.job, message.flag)
      break
    case 'credit':
      running.get(message.id)?.credit.give()
      break
    case 'abort':
      running.get(message.id)?.stop.abort()
  }
})

const send = (message: FromThread, transferred: ArrayBuffer[] = []) => port.postMessage(message, transferred)

/** Jobs that do not look at the source. */
const ofTargetAlone: ReadonlySet<Job['kind']> = new Set(['sweep', 'written', 'settle', 'abandon'])

/** Jobs that others wait for so long and no longer: when they are stopped, that time is over. */
const ofCleanUps: ReadonlySet<Job['kind']> = new Set(['sweep', 'abandon'])

/** Never rejects: whatever happens is the job's answer. */
async function start(id: number, job: Job, flag: Int32Array): Promise<void> {
  using stop = new Stop(flag, ofCleanUps.has(job.kind) ? 0 : graceMs)
  const state = { id, stop, credit: new Credit(stop.signal) }
  running.set(id, state)
  try {
    const reply = await drivers.use(job.spec.source, 'source', (source) =>
      drivers.use(job.spec.target, 'target', (target) =>
        withinJob(stop.lateSignal, () => inPlace(job, state, source, target)),
      ),
    )
    send({ type: 'reply', id, reply })
  } catch (error) {
    send({ type: 'error', id, error: sendableError(error) })
  } finally {
    running.delete(id)
  }
}

/** Does the work of a job, if source and target are what they were: what was found or written in others is worth nothing. */
async function inPlace(job: Job, state: RunningJob, source: Driver, target: Driver): Promise<Reply> {
  const { spec } = job
  const sourceMark = ofTargetAlone.has(job.kind) ? undefined : spec.sourceMark
  if (sourceMark !== undefined && asksRules(spec)) await loadRules()
  const [from, to] = [sourcePlace(source, spec), target.places?.asTarget()]
  const check = () => {
    if (sourceMark !== undefined) from?.require(sourceMark)
    if (spec.targetMark !== undefined) to?.require(spec.targetMark)
  }
  check()
  // Whoever hears of the end must find folders of the target with their own modes.
  const reply = await work(job, state, source, target).finally(endDriversJob)
  check()
  return reply
}

async function work(job: Job, state: RunningJob, source: Driver, target: Driver): Promise<Reply> {
  const { id, stop, credit } = state
  stop.check()
  const spec = openSpec(job.spec)
  const liveThreads = 'item' in job ? job.liveThreads : undefined
  const rules = needsRules(job) ? await compiledRules(job.spec) : undefined
  const pace = new Pace(spec.limits ?? [], stop)
  const meter = new MeterView(spec.meter)
  const stores = { source: asSource(source, spec), target: asTarget(target, spec) }
  const given = abandoned.get(target) ?? new UntilDone()
  abandoned.set(target, given)
  const abandon = (upload: Upload) =>
    given.do(() => drivers.use(job.spec.target, 'target', (its) => its.abortUpload(upload)))
  const run: Run = { spec, ...stores, rules, stop, pace, meter, abandon, liveThreads }
  const hand = (batch: Batch) => credit.take(() => sendBatch(id, batch))
  const handChildren = (children: ChildBatch) => hand({ type: 'children', children })
  switch (job.kind) {
    case 'scan': {
      const region = itemOf(job.item, 'region')
      const children = new Children(handChildren, boundsOf(run), region.policy)
      return { kind: 'result', result: await scan(run, region, children) }
    }
    case 'reconcile': {
      // What was changed is to arrive, whatever happens to what is found by a scan.
      const children = new Children(handChildren, boundsOf(run), 'Overwrite')
      return { kind: 'result', result: await reconcile(run, itemOf(job.item, 'reconcile'), children) }
    }
    case 'transfer':
      return { kind: 'result', result: await transfer(run, itemOf(job.item, 'transfer')) }
    case 'folders': {
      const children = new Children(handChildren, boundsOf(run))
      return { kind: 'result', result: await finishFolders(run, itemOf(job.item, 'folders'), children) }
    }
    case 'sweep':
      for (const folder of writtenFolders(decodeItem(job.item)))
        await sweep(run, storePath(run, folder), () => true)
      return { kind: 'done' }
    case 'rename':
      return { kind: 'renamed', renamed: await renameAtTarget(run, job.renamed) }
    case 'begin': {
      const item = itemOf(job.item, 'large')
      // Whether the target had it before was asked before its parts were spread.
      const result =
        item.spread === undefined
          ? ((await skipLarge(run, item)) ?? (await copyLargeWhole(run, item)))
          : undefined
      return result === undefined
        ? { kind: 'begun', copy: await beginLarge(run, item, job) }
        : { kind: 'result', result }
    }
    case 'part':
      await copyPart(run, job.copy, job.index)
      return { kind: 'done' }
    case 'written': {
      const { upload, partBytes } = job.copy
      return { kind: 'written', parts: await atTarget(run.target.writtenParts(upload, partBytes)) }
    }
    case 'commit':
      return { kind: 'result', result: await commitLarge(run, job.copy) }
    case 'compare':
    case 'plan':
    case 'match':
    case 'clean': {
      const judge = judgeOf(job, run)
      // What was done is told though the job is to end; it takes longer to do than to tell.
      const tell = judge.acts === true ? async (batch: Batch) => sendBatch(id, batch) : hand
      await walk(run, judge, job.folders, (findings) => tell({ type: 'findings', findings }))
      return { kind: 'done' }
    }
    case 'settle':
      await Promise.all([target.settled?.(stop.signal), given.settled(stop.signal)])
      return { kind: 'done' }
    case 'abandon':
      break
  }
  await run.target.abortUpload(job.upload)
  return { kind: 'done' }
}

const needsRules = (job: Job): boolean =>
  ['scan', 'reconcile', 'folders', 'rename'].includes(job.kind) || 'folders' in job

function judgeOf(job: Extract<Job, { readonly folders: unknown }>, run: Run): Judge {
  switch (job.kind) {
    case 'compare':
      return new Comparer(run, job.comparison)
    case 'plan':
      return new Planner(run, job.by)
    case 'match':
      return new Matcher(run, job.match)
    case 'clean':
      return new Cleaner(run, job.step)
  }
}

/** What matches patterns is loaded with the first rules: it is as large as all of a thread's own code. */
async function compiledRules({ rules }: MoveSpec): Promise<Rules | undefined> {
  return rules === undefined ? undefined : (await loadRules()).unpackRules(rules)
}

const loadRules = () => import('../run/rules.ts')

function sendBatch(id: number, batch: Batch): void {
  const items = batch.type === 'children' ? Object.values(batch.children).flat() : []
  send(
    { type: 'batch', id, batch },
    items.map(({ buffer }) => buffer),
  )
}

function itemOf<K extends Item['kind']>(bytes: Uint8Array, kind: K): Extract<Item, { kind: K }> {
  const item = decodeItem(bytes)
  if (!isKind(item, kind)) throw malformed(`a ${item.kind}, not a ${kind}`)
  return item
}

const isKind = <K extends Item['kind']>(item: Item, kind: K): item is Extract<Item, { kind: K }> =>
  item.kind === kind
