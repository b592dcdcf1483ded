import type { Log } from '../../../broker/common/log.ts'
import type { OtlpConfig } from '../../../config/otlp.ts'
import { every, type Task } from '../../../broker/tasks/tasks.ts'
import { type BeginSpan, type FinishedSpan, tracer } from '../../../broker/messages/tracing.ts'
import { platformSource } from '../../../subjects/observability/metric-model.ts'
import type { Series } from '../series.ts'
import { type About, encodeMetrics, encodeSpans } from './encode.ts'

/** A collector that is away for long costs no more memory than this. */
const maxSpans = 4_096
const spansOfRequest = 512
/** A collector that is slower is as good as away. */
const timeoutMs = 10_000

export interface ExporterOptions {
  readonly config: OtlpConfig
  readonly about: About
  /** All series that there are. */
  readonly series: () => Promise<readonly Series[]>
  readonly log: Log
}

/** Sends metrics and spans to a collector of OpenTelemetry, by OTLP over HTTP with JSON. */
export class OtlpExporter {
  readonly beginSpan: BeginSpan = tracer((span) => this.#take(span))
  readonly #options: ExporterOptions
  readonly #startMs = Date.now()
  readonly #tasks: readonly Task[]
  #spans: FinishedSpan[] = []
  #sending: Promise<void> = Promise.resolve()
  #isAway = false

  constructor(options: ExporterOptions) {
    this.#options = options
    this.#tasks = [
      every('otlp.spans', () => this.#inOrder(() => this.#sendSpans())),
      every('otlp.metrics', () => this.#inOrder(() => this.#sendMetrics())),
    ]
  }

  /** Sends what there is. */
  async stop(): Promise<void> {
    for (const task of this.#tasks) task.stop()
    await this.#inOrder(() => this.#sendSpans())
    await this.#inOrder(() => this.#sendMetrics())
  }

  #take(span: FinishedSpan): void {
    if (this.#spans.length < maxSpans) this.#spans.push(span)
  }

  /** Never rejects: whoever is watched does not fail because nobody watches. */
  #inOrder(send: () => Promise<void>): Promise<void> {
    this.#sending = this.#sending.then(send).then(
      () => {
        this.#isAway = false
      },
      (error: unknown) => {
        // With the address of the collector, which may have a password in it, nothing is logged.
        const reason = error instanceof Error ? error.message : String(error)
        if (!this.#isAway) this.#options.log.warn({ reason }, 'The OpenTelemetry collector does not respond.')
        this.#isAway = true
      },
    )
    return this.#sending
  }

  async #sendSpans(): Promise<void> {
    while (this.#spans.length > 0) {
      const some = this.#spans.slice(0, spansOfRequest)
      await this.#post('v1/traces', encodeSpans(platformSource, some, this.#options.about))
      this.#spans.splice(0, some.length)
    }
  }

  async #sendMetrics(): Promise<void> {
    const series = await this.#options.series()
    const times = { startMs: this.#startMs, nowMs: Date.now() }
    await this.#post('v1/metrics', encodeMetrics(series, this.#options.about, times))
  }

  async #post(path: string, body: object): Promise<void> {
    const { endpoint, headers } = this.#options.config
    const response = await fetch(`${endpoint}/${path}`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      // Its headers may be secret, and are for the collector that the configuration names.
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
    })
    await response.arrayBuffer()
    if (!response.ok) throw new Error(`it returned status ${response.status} for ${path}`)
  }
}
