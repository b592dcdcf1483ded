import { tasksHere } from '../../broker/tasks/tasks.ts'
import type { Handlers, Output } from '../../subjects/kit/contract.ts'
import { title } from '../../subjects/kit/names.ts'
import type { platform } from '../../subjects/platform/platform.ts'
import type { Component } from '../kit/part.ts'

type Loss = Output<(typeof platform)['losses']>[number]
type Info = Output<(typeof platform)['info']>

export interface PlatformDependencies {
  readonly version: string
  readonly about: Omit<Info, 'name' | 'version'>
  /** Looks at each component; quick, and never throws. */
  readonly components: () => Promise<Component[]>
  /** The same for what work goes on without, which load balancers need not know of. */
  readonly others: () => Promise<Component[]>
  /** Damage to stored state that nobody has accepted yet. */
  readonly losses: { all(): readonly Loss[]; accept(): readonly Loss[] }
}

/** What the platform says of itself. */
export function platformHandlers({
  version,
  about,
  components,
  others,
  losses,
}: PlatformDependencies): Handlers<typeof platform> {
  return {
    info: () => ({ name: title, version, ...about }),
    ping: () => ({ message: 'pong' as const }),
    tasks: () => tasksHere(),
    health: async (_, call) => {
      const seen = (await Promise.all([components(), others()])).flat()
      const broken = seen.filter((component) => !component.healthy)
      const health = {
        status: broken.length === 0 ? 'healthy' : 'degraded',
        version,
        components: seen,
      } as const
      if (broken.length === 0) return health
      throw call.fail('UNAVAILABLE', `degraded: ${broken.map(({ name }) => name).join(', ')}`, health)
    },
    losses: () => [...losses.all()],
    'accept-losses': () => [...losses.accept()],
    ready: async (_, call) => {
      const broken = (await components()).filter((component) => !component.healthy)
      if (broken.length === 0) return { ready: true as const }
      throw call.fail('UNAVAILABLE', `not ready: ${broken.map(({ name }) => name).join(', ')}`)
    },
  }
}
