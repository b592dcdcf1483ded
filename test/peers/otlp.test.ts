import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { loadMessagingConfig } from '../../config/messaging.ts'
import { loadPlatformConfig } from '../../config/platform.ts'
import { files } from '../../subjects/kit/names.ts'
import { createHome, startTestPlatform, testLog } from '../support/platform.ts'
import { pythonTest } from '../support/python.ts'

interface Received {
  readonly error?: string
  readonly resourceSpans?: { scopeSpans: { spans: { traceId: string; name: string }[] }[] }[]
  readonly resourceMetrics?: { scopeMetrics: { metrics: { name: string }[] }[] }[]
}

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'

/** Receives them in a process of its own. */
async function startReceiver(python: string) {
  const path = fileURLToPath(new URL('otlp_receiver.py', import.meta.url))
  const child = spawn(python, [path], { stdio: ['ignore', 'pipe', 'inherit'] })
  const lines = createInterface(child.stdout)
  const received: Received[] = []
  const [port] = (await once(lines, 'line')) as [string]
  lines.on('line', (line) => received.push(JSON.parse(line) as Received))
  return {
    endpoint: `http://127.0.0.1:${port}`,
    received,
    [Symbol.asyncDispose]: async () => {
      const ended = once(child, 'exit')
      child.kill()
      await ended
    },
  }
}

pythonTest('traces and metrics are what the published schema of OpenTelemetry says', async (program) => {
  await using receiver = await startReceiver(program)
  const home = await createHome()
  await loadPlatformConfig(home, loadMessagingConfig(home), testLog)
  const config = join(home, files.config)
  const made = JSON.parse(readFileSync(config, 'utf8')) as object
  writeFileSync(config, JSON.stringify({ ...made, 'otlp.endpoint': receiver.endpoint }))
  {
    await using platform = await startTestPlatform({ home })
    const headers = {
      authorization: `Bearer ${platform.operatorToken}`,
      traceparent: `00-${traceId}-00f067aa0ba902b7-01`,
      tracestate: 'vendor=1',
    }
    expect(await platform.rest('platform', 'GET', '/api/v1/roles', { headers })).toMatchObject({
      status: 200,
    })
    expect(await platform.rest('platform', 'GET', '/api/v1/keys/none', { headers })).toMatchObject({
      status: 404,
    })
  }
  // What is left is sent when the platform stops.
  const { received } = receiver
  expect(received.filter(({ error }) => error !== undefined)).toEqual([])
  const spans = received.flatMap(({ resourceSpans = [] }) =>
    resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)),
  )
  expect(spans.length).toBeGreaterThanOrEqual(4)
  const id = Buffer.from(traceId, 'hex').toString('base64')
  expect(new Set(spans.map((span) => span.traceId))).toEqual(new Set([id]))
  const metrics = received.flatMap(({ resourceMetrics = [] }) =>
    resourceMetrics.flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics)),
  )
  // A counter, a gauge and a histogram.
  expect(metrics.map((metric) => metric.name)).toEqual(
    expect.arrayContaining(['http.requests.total', 'storage.limit.bytes', 'http.latency']),
  )
  rmSync(home, { recursive: true, force: true })
})
