import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './platform.ts'
import { whyMissing } from './provide.ts'
import { until } from './until.ts'

/** Why there is no server of SQS here; undefined where there is one. */
export const noSqs = whyMissing('ELASTICMQ_CLASSES')

/** A server of SQS's protocol on loopback, which checks no signatures; gone with the scope. */
export interface SqsServer extends AsyncDisposable {
  readonly endpoint: string
  /** One call, by SQS's JSON protocol. */
  call(name: string, parameters: object): Promise<Record<string, unknown>>
  /** Makes a queue; returns its URL. */
  createQueue(name: string): Promise<string>
  send(url: string, body: string): Promise<void>
  /** Messages that nobody has removed. */
  left(url: string): Promise<number>
  /** Ends it as kill -9 does, with all that is in its queues. */
  kill(): Promise<void>
}

export async function startSqs(): Promise<SqsServer> {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-sqs-'))
  const port = await freePort()
  const config = join(folder, 'elasticmq.conf')
  writeFileSync(
    config,
    `include classpath("application.conf")
node-address { protocol = http, host = "127.0.0.1", port = ${port}, context-path = "" }
rest-sqs { enabled = true, bind-port = ${port}, bind-hostname = "127.0.0.1", sqs-limits = strict }
rest-stats { enabled = false }
`,
  )
  const args = ['-Xmx128m', `-Dconfig.file=${config}`, '-cp', process.env['ELASTICMQ_CLASSES']!]
  const child = spawn('java', [...args, 'org.elasticmq.server.Main'], { stdio: 'ignore' })
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  const endpoint = `http://127.0.0.1:${port}`
  const call: SqsServer['call'] = async (name, parameters) => {
    const answer = await fetch(endpoint, {
      method: 'POST',
      headers: { 'content-type': 'application/x-amz-json-1.0', 'x-amz-target': `AmazonSQS.${name}` },
      body: JSON.stringify(parameters),
    })
    if (!answer.ok) throw new Error(`${name}: ${answer.status} ${await answer.text()}`)
    return (await answer.json().catch(() => ({}))) as Record<string, unknown>
  }
  await until('there is a server of SQS', () =>
    call('ListQueues', {}).then(
      () => true,
      () => false,
    ),
  )
  return {
    endpoint,
    call,
    createQueue: async (QueueName) => String((await call('CreateQueue', { QueueName }))['QueueUrl']),
    send: async (QueueUrl, MessageBody) => void (await call('SendMessage', { QueueUrl, MessageBody })),
    left: async (QueueUrl) => {
      const names = ['ApproximateNumberOfMessages', 'ApproximateNumberOfMessagesNotVisible']
      const { Attributes } = await call('GetQueueAttributes', { QueueUrl, AttributeNames: names })
      const counts = Object.values(Attributes as Record<string, string>)
      return counts.reduce((sum, count) => sum + Number(count), 0)
    },
    kill: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return
      const gone = once(child, 'exit')
      kill()
      await gone
    },
    [Symbol.asyncDispose]: async () => {
      process.off('exit', kill)
      kill()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
