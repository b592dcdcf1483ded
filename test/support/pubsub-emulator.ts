import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { whyMissing } from './provide.ts'

/** A subscription of Google's own test server of Pub/Sub, in a process of its own; gone with the scope. */
export interface PubSubEmulator extends AsyncDisposable {
  readonly project: string
  readonly topic: string
  readonly subscription: string
  /** Of REST. */
  readonly endpoint: string
  /** Of gRPC, for `PUBSUB_EMULATOR_HOST`. */
  readonly host: string
}

/** Why there is no such server here; undefined where there is one. */
export const noPubSub = whyMissing('PUBSUB_EMULATOR')

export async function startPubSub(): Promise<PubSubEmulator> {
  const [project, topic, name] = ['tests', 'changes', 'gantry']
  const child = spawn(process.env['PUBSUB_EMULATOR']!, [project, topic, name], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const lines = createInterface(child.stdout)
  const [line] = (await Promise.race([once(lines, 'line'), once(child, 'exit')])) as unknown[]
  const [, host, rest] = /^grpc (\S+) rest (\S+)$/.exec(String(line)) ?? []
  if (host === undefined) throw new Error(`the server of Pub/Sub did not start: ${String(line)}`)
  return {
    project,
    topic,
    subscription: `projects/${project}/subscriptions/${name}`,
    endpoint: `http://${rest}`,
    host,
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return
      const gone = once(child, 'exit')
      child.kill('SIGKILL')
      await gone
    },
  }
}
