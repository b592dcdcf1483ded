import type { Caller, Handlers } from '../../subjects/kit/contract.ts'
import { GantryError, isGantryError } from '../../subjects/kit/errors.ts'
import { endpointSubject } from '../../subjects/extensions/contract.ts'
import { heartbeatEveryMs, lostAfterMs } from '../../subjects/extensions/model.ts'
import { type extensions, type extensionsInternal, maxLost } from '../../subjects/extensions/extensions.ts'
import { serviceQueue } from '../../subjects/kit/names.ts'
import { maxPageLength } from '../../subjects/kit/schemas.ts'
import { unguessable } from '../../subjects/kit/unguessable.ts'
import type { Directory, LiveInstance } from './directory.ts'
import type { Lifecycle } from './lifecycle.ts'
import type { LogBook } from './log-book.ts'
import type { LostExtensions } from './lost.ts'
import type { RequireOwn } from './own.ts'
import { type ExtensionState, instanceKey, type InstanceRecord } from './record.ts'
import { checkRegistration, requireSubscription } from './registration.ts'
import { detailsOf, featuresOf, summaryOf } from './view.ts'
import { keyOf, sees, unseen, type Viewer, type ViewerOf } from './visibility.ts'

export interface ExtensionDependencies {
  readonly state: ExtensionState
  readonly directory: Directory
  readonly lifecycle: Lifecycle
  readonly book: LogBook
  readonly lost: LostExtensions
  readonly viewerOf: ViewerOf
  readonly requireOwn: RequireOwn
  /** Forgets all that an extension has reported. */
  readonly forgetMetrics: (prefix: string) => Promise<void>
  /** Forgets all that an extension has stored. */
  readonly dropStorage: (prefix: string) => Promise<void>
}

type Page = { readonly limit?: number; readonly after?: string }

/** Extensions: registered, shown, and gone. */
export function extensionHandlers({
  state,
  directory,
  lifecycle,
  book,
  viewerOf,
  requireOwn,
  dropStorage,
  forgetMetrics,
}: ExtensionDependencies): Handlers<typeof extensions> {
  const viewer = (caller: Caller): Promise<Viewer> => viewerOf(keyOf(caller))
  const seen = async (prefix: string, caller: Caller): Promise<LiveInstance[]> => {
    const instances = directory.instances(prefix)
    if (instances.length === 0 || !sees(await viewer(caller), prefix)) throw unseen(prefix)
    return instances
  }
  /** The caller's own instance. */
  const own = async (prefix: string, instance: string, caller: Caller): Promise<InstanceRecord> => {
    const key = keyOf(caller)
    requireSubscription(key, (await viewerOf(key)).capabilities, prefix)
    const record = directory.get(prefix, instance)
    if (record === undefined || record.key !== key) {
      throw new GantryError('NOT_FOUND', `there is no instance ${instance} of ${prefix}: register again`)
    }
    return record
  }
  /** @throws GantryError DENIED, NOT_FOUND unless the caller may look after an extension, there or not */
  const requireCare = async (prefix: string, caller: Caller): Promise<void> => {
    if (!(await viewer(caller)).isAdministrator) await requireOwn(keyOf(caller), prefix)
    else if ((await state.owned.get(prefix)) === undefined) throw unseen(prefix)
  }
  return {
    register: async (registration, call) => {
      const { prefix, endpoints = [], instance = unguessable() } = registration
      const key = keyOf(call.caller)
      const { owner, capabilities } = await viewerOf(key)
      requireSubscription(key, capabilities, prefix)
      checkRegistration(registration)
      const { connection } = call
      if (connection === undefined)
        throw new GantryError('INTERNAL', 'the broker did not identify the caller of the registration')
      await lifecycle.claim(prefix, owner)
      const registered = new Date().toISOString()
      await lifecycle.join({ instance, prefix, owner, key, registered, connection, registration })
      return {
        instance,
        heartbeatEveryMs,
        lostAfterMs,
        queue: serviceQueue,
        endpoints: endpoints.map((endpoint) => ({
          name: endpoint.name,
          subject: endpointSubject(prefix, endpoint),
        })),
      }
    },
    heartbeat: async ({ prefix, instance }, { caller, connection }) => {
      const record = await own(prefix, instance, caller)
      await lifecycle.beat(record, connection ?? record.connection)
      return {}
    },
    deregister: async ({ prefix, instance }, { caller }) => {
      await lifecycle.leave(await own(prefix, instance, caller))
      return {}
    },
    list: async (page, { caller }) => visibleTo(directory, await viewer(caller), page).map(summaryOf),
    features: async ({ prefix, ...page }, { caller }) =>
      visibleTo(directory, await viewer(caller), page)
        .map(featuresOf)
        .filter((each) => prefix === undefined || each.prefix === prefix),
    show: async ({ prefix }, { caller }) => detailsOf(await seen(prefix, caller)),
    resource: async ({ prefix, uri }, call) => {
      const [newest] = await seen(prefix, call.caller)
      const found = newest?.registration.resources?.find((one) => one.uri === uri)
      if (found === undefined) throw call.fail('NOT_FOUND', `${prefix} has no page ${uri}`)
      return found
    },
    logs: async ({ prefix }, { caller }) => {
      const isSeen = sees(await viewer(caller), prefix) && (await state.owned.get(prefix)) !== undefined
      if (!isSeen) await requireCare(prefix, caller).catch(asUnseen(prefix))
      return book.read(prefix)
    },
    release: async ({ prefix }, call) => {
      await requireCare(prefix, call.caller)
      const there = directory.instances(prefix)
      if (there.length > 0) {
        const ids = there.map(instanceKey).join(', ')
        throw call.fail('IN_USE', `stop the instances of ${prefix} first: ${ids}`)
      }
      await dropStorage(prefix)
      await forgetMetrics(prefix)
      await book.forget(prefix)
      await state.owned.delete(prefix)
      return {}
    },
  }
}

/** Who may not look after an extension is told what those are told who do not see it. */
const asUnseen =
  (prefix: string) =>
  (error: unknown): never => {
    throw isGantryError(error, 'DENIED') || isGantryError(error, 'NOT_FOUND') ? unseen(prefix) : error
  }

/** The extensions that somebody sees, by prefix. */
function visibleTo(directory: Directory, viewer: Viewer, { limit = maxPageLength, after }: Page) {
  // Lazily: of a thousand, only those of the page are looked at.
  return directory
    .prefixes()
    .values()
    .filter((prefix) => (after === undefined || prefix > after) && sees(viewer, prefix))
    .take(limit)
    .map((prefix) => directory.instances(prefix))
    .toArray()
}

/** An extension that is coming back is worth another try. */
const away = (prefix: string, lostSince: string | undefined): GantryError =>
  lostSince === undefined
    ? unseen(prefix)
    : new GantryError(
        'UNAVAILABLE',
        `the extension ${prefix} disconnected at ${lostSince} and has not reconnected; try again later`,
      )

/** What the newest instance registered is what holds. */
const revisionOf = (newest: LiveInstance): string => `${instanceKey(newest)} ${newest.registered}`

/** What the edge asks. */
export function extensionInternalHandlers({
  directory,
  book,
  lost,
  viewerOf,
  requireOwn,
}: ExtensionDependencies): Handlers<typeof extensionsInternal> {
  return {
    revision: async ({ key, prefix }) => {
      if (!sees(await viewerOf(key), prefix)) throw unseen(prefix)
      const [newest] = directory.instances(prefix)
      if (newest === undefined) throw away(prefix, lost.since(prefix))
      return { revision: revisionOf(newest) }
    },
    visible: async ({ key, ...page }) =>
      visibleTo(directory, await viewerOf(key), page).map(([newest]) => ({
        prefix: newest!.prefix,
        revision: revisionOf(newest!),
      })),
    endpoints: ({ prefix }) => {
      const [newest] = directory.instances(prefix)
      if (newest === undefined) throw unseen(prefix)
      return newest.registration.endpoints ?? []
    },
    own: async ({ key, prefix }) => {
      await requireOwn(key, prefix)
      return {}
    },
    lost: () => lost.list().slice(0, maxLost),
    failed: ({ prefix, name, problem }) => {
      if (directory.instances(prefix).length > 0)
        book.note(prefix, { level: 'error', message: `${name}: ${problem}` })
      return {}
    },
  }
}
