import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { StorageUse } from '../../broker/state/storage.ts'
import type { MetricRegistry } from '../../subjects/observability/metric-registry.ts'

/** How finely delays are looked at. A timer of 100 ms costs 0.1 % of a processor, one of 20 ms 0.5 %: all the time. */
const resolutionMs = 100

/** What is looked at when metrics are collected. */
export interface Looks {
  readonly storage: () => Promise<StorageUse>
  readonly extensions: () => number
}

/** The figures of the process and of the storage, looked at when they are collected. */
export class OwnMetrics {
  readonly #looks: Looks
  readonly #delay = monitorEventLoopDelay({ resolution: resolutionMs })
  readonly #gauges: Record<keyof ReturnType<typeof gaugesOf>, { set(value: number): void }>
  readonly #cpu: { add(more: number): void }
  #cpuBefore = process.cpuUsage()

  constructor(registry: MetricRegistry, looks: Looks) {
    this.#looks = looks
    this.#gauges = gaugesOf(registry)
    this.#cpu = registry.counter('process.cpu.seconds.total', {
      help: 'CPU time of the platform, in seconds',
    })
    this.#delay.enable()
  }

  async look(): Promise<void> {
    const { user, system } = process.cpuUsage(this.#cpuBefore)
    this.#cpuBefore = process.cpuUsage()
    this.#cpu.add((user + system) / 1e6)
    const gauges = this.#gauges
    gauges.rss.set(process.memoryUsage.rss())
    gauges.uptime.set(Math.round(process.uptime()))
    // In nanoseconds, with the time between two looks in it.
    gauges.delay.set(Math.max(0, this.#delay.max / 1e9 - resolutionMs / 1_000))
    this.#delay.reset()
    gauges.extensions.set(this.#looks.extensions())
    const { fileBytes, maxFileBytes, memBytes, maxMemBytes } = await this.#looks.storage()
    gauges.fileBytes.set(fileBytes)
    gauges.maxFileBytes.set(maxFileBytes)
    gauges.memBytes.set(memBytes)
    gauges.maxMemBytes.set(maxMemBytes)
  }

  stop(): void {
    this.#delay.disable()
  }
}

function gaugesOf(registry: MetricRegistry) {
  const gauge = (name: string, help: string, labels = {}) => registry.gauge(name, { help, labels })
  const storage = 'Storage used by the broker, by type, in bytes'
  const limit = 'Storage limits of the broker (max_file and max_mem), in bytes'
  return {
    rss: gauge('process.memory.rss.bytes', 'Memory of the platform process, in bytes'),
    uptime: gauge('process.uptime.seconds', 'Uptime of the platform, in seconds'),
    delay: gauge(
      'process.eventloop.delay.seconds',
      'Longest event loop delay since the previous value, in seconds',
    ),
    extensions: gauge('extensions.registered.total', 'Registered extensions'),
    fileBytes: gauge('storage.bytes', storage, { kind: 'file' }),
    memBytes: gauge('storage.bytes', storage, { kind: 'memory' }),
    maxFileBytes: gauge('storage.limit.bytes', limit, { kind: 'file' }),
    maxMemBytes: gauge('storage.limit.bytes', limit, { kind: 'memory' }),
  }
}
