import type { Resource } from '../../subjects/kit/contract.ts'
import type { Component, Lifecycle, Part, Started } from './part.ts'

/** Keys that a part would give though they are there already. */
type Distinct<Known, Gives> = keyof Known & keyof Gives extends never
  ? unknown
  : { readonly givesWhatIsThere: keyof Known & keyof Gives }

/** A resource that is to be served. */
export interface Served {
  readonly contracts: Resource
  readonly handlers: object
  /** undefined: the usual number */
  readonly concurrency: number | undefined
}

/** Parts that have started. */
export interface Running<Known> extends Required<Lifecycle> {
  /** What was there, and what all parts gave. */
  readonly known: Known
  readonly handlers: Readonly<Record<string, object>>
  readonly served: readonly Served[]
  readonly health: () => Promise<Component[]>
  readonly run: () => Promise<void>
  readonly halt: () => Promise<void>
  readonly stop: () => Promise<void>
}

/**
 * Parts in the order of their start. Each may use what was there from the beginning (`Needs`) and what those before it
 * give: the compiler refuses one that stands too early, and so every circle.
 */
export class Assembly<Needs extends object, Known extends object = Needs> {
  readonly parts: readonly Part<never, object>[]

  constructor(parts: readonly Part<never, object>[] = []) {
    this.parts = parts
  }

  add<Gives extends object>(
    part: Part<Known, Gives> & Distinct<Known, Gives>,
  ): Assembly<Needs, Known & Gives> {
    return new Assembly([...this.parts, part])
  }

  /** All parts as one, which gives only what `give` picks. */
  as<Gives extends object = object>(name: string, give?: (known: Known) => Gives): Part<Needs, Gives> {
    const merged = <T>(of: (part: Part<never, object>) => Readonly<Record<string, T>>) =>
      Object.assign({}, ...this.parts.map(of)) as Record<string, T>
    return {
      name,
      contracts: merged(({ contracts }) => contracts),
      concurrency: merged(({ concurrency }) => concurrency),
      tasks: this.parts.flatMap(({ tasks }) => tasks),
      start: async (needs) => {
        const { known, ...running } = await this.start(needs)
        return { ...running, ...(give === undefined ? {} : { gives: give(known) }) }
      },
    }
  }

  /** Starts all parts, one after the other; when one cannot, those before it are ended. */
  async start(needs: Needs): Promise<Running<Known>> {
    const started: Started<object>[] = []
    const served: Served[] = []
    let known: object = needs
    const end = (how: 'halt' | 'stop') => endAll(started.toReversed().map((one) => one[how]))
    try {
      for (const part of this.parts) {
        const before = [...started]
        // `add` has seen to it that all is there that the part needs.
        const one = await part.start(known as never, { health: () => healthOf(before) })
        started.push(one)
        known = { ...known, ...one.gives }
        for (const [name, contracts] of Object.entries(part.contracts))
          served.push({ contracts, handlers: one.handlers![name]!, concurrency: part.concurrency[name] })
      }
    } catch (error) {
      await end('halt')
      await end('stop')
      throw error
    }
    return {
      known: known as Known,
      handlers: Object.assign({}, ...started.map(({ handlers }) => handlers)) as Record<string, object>,
      served,
      health: () => healthOf(started),
      run: async () => {
        for (const one of started) await one.run?.()
      },
      halt: () => end('halt'),
      stop: () => end('stop'),
    }
  }
}

const healthOf = async (parts: readonly Started<object>[]): Promise<Component[]> =>
  (await Promise.all(parts.map(async (part) => (await part.health?.()) ?? []))).flat()

/** One that fails keeps none of the others from ending. @throws the error of the first that failed */
async function endAll(steps: readonly ((() => unknown) | undefined)[]): Promise<void> {
  const errors: unknown[] = []
  for (const step of steps) {
    try {
      await step?.()
    } catch (error) {
      errors.push(error)
    }
  }
  if (errors.length > 0) throw errors[0]
}
