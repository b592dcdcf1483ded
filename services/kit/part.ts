import type { TaskName } from '../../broker/tasks/task-list.ts'
import type { Handlers, Output, Resource } from '../../subjects/kit/contract.ts'
import type { platform } from '../../subjects/platform/platform.ts'

/** One line of `platform health`. */
export type Component = Output<(typeof platform)['health']>['components'][number]

/** Resources that a service answers, by the names under which it has their handlers. */
export type Resources = Readonly<Record<string, Resource>>

/** What a part does after its start. `run` is called when all are served; the end comes in the reverse order. */
export interface Lifecycle {
  /** Looks at what it depends on; quick, and never throws. */
  readonly health?: () => readonly Component[] | Promise<readonly Component[]>
  /** Begins its own work; everything that it may ask is served by then. */
  readonly run?: () => unknown
  /** Ends that work, and has nobody wait any longer, while everything is still served. Called also where `run` was not. */
  readonly halt?: () => unknown
  /** Closes what its start opened; it is not served any more. */
  readonly stop?: () => unknown
}

/** A part that has started. */
export interface Started<Gives extends object> extends Lifecycle {
  /** What the parts after it may use. */
  readonly gives?: Gives
  /** By resource, then by verb; `service` has checked that they fit the contracts. */
  readonly handlers?: Readonly<Record<string, object>>
}

/** The parts that have started before. */
export interface Before {
  readonly health: () => Promise<Component[]>
}

/** Something that the process is put together of, as data. `Needs` says what it uses of the parts before it. */
export interface Part<Needs extends object, Gives extends object> {
  readonly name: string
  readonly contracts: Resources
  /** Requests of one resource that it works on at once, where it is not the usual number. */
  readonly concurrency: Readonly<Record<string, number>>
  /** What it does periodically or in the background. */
  readonly tasks: readonly TaskName[]
  readonly start: (needs: Needs, before: Before) => Started<Gives> | Promise<Started<Gives>>
}

interface PartDefinition<Needs extends object, Gives extends object> extends Pick<
  Part<Needs, Gives>,
  'name'
> {
  readonly tasks?: readonly TaskName[]
  readonly start: (
    needs: Needs,
    before: Before,
  ) => Omit<Started<Gives>, 'handlers'> | Promise<Omit<Started<Gives>, 'handlers'>>
}

/** A part that nobody calls. */
export const part = <Needs extends object, Gives extends object = object>(
  definition: PartDefinition<Needs, Gives>,
): Part<Needs, Gives> => ({ contracts: {}, concurrency: {}, tasks: [], ...definition })

interface StartedService<R extends Resources, Gives extends object> extends Omit<Started<Gives>, 'handlers'> {
  readonly handlers: { readonly [Name in keyof R]: Handlers<R[Name]> }
}

interface ServiceDefinition<Needs extends object, R extends Resources, Gives extends object> {
  readonly name: string
  readonly contracts: R
  readonly concurrency?: { readonly [Name in keyof R]?: number }
  readonly tasks?: readonly TaskName[]
  readonly start: (
    needs: Needs,
    before: Before,
  ) => StartedService<R, Gives> | Promise<StartedService<R, Gives>>
}

/** A part that answers contracts. */
export function service<Needs extends object, R extends Resources, Gives extends object = object>(
  definition: ServiceDefinition<Needs, R, Gives>,
): Part<Needs, Gives> {
  const { name, contracts, concurrency = {}, tasks = [], start } = definition
  return { name, contracts, concurrency: { ...concurrency }, tasks, start }
}
