import { Admin, Producer } from '@platformatic/kafka'
import { execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeCertificates } from './certificates.ts'
import { isListening } from './loopback.ts'
import { freePort } from './platform.ts'
import { whyMissing } from './provide.ts'
import { testUnless } from './unless.ts'
import { until } from './until.ts'

/** A test with a real broker of Kafka. */
export const kafkaTest = (name: string, work: () => Promise<void>, timeoutMs?: number): void =>
  testUnless(whyMissing('KAFKA_CLASSES'), name, work, timeoutMs)

/** A broker of the test's own on loopback; gone with the scope. */
export interface KafkaBroker extends AsyncDisposable {
  /** `host:port` */
  readonly address: string
  /** The same broker over TLS, and over TLS for `kafkaUser` alone; the certificate is for 127.0.0.1 and localhost. */
  readonly secured: { readonly tls: string; readonly sasl: string; readonly ca: string }
  createTopic(topic: string, partitions: number): Promise<void>
  /** Gives a topic that has so many partitions further ones. */
  extendTopic(topic: string, partitions: number, added: number): Promise<void>
  deleteTopic(topic: string): Promise<void>
  send(topic: string, ...messages: readonly string[]): Promise<void>
  sendTo(topic: string, partition: number, ...messages: readonly string[]): Promise<void>
  kill(): Promise<void>
  restart(): Promise<void>
}

const brokerId = 1

/** Who may connect to `secured.sasl`, by each mechanism. */
export const kafkaUser = { username: 'gantry', password: 'kafka-password' }

export async function startKafka(): Promise<KafkaBroker> {
  const classPath = process.env['KAFKA_CLASSES'] ?? ''
  const folder = mkdtempSync(join(tmpdir(), 'gantry-kafka-'))
  const port = await freePort()
  const [controllerPort, tlsPort, saslPort] = [await freePort(), await freePort(), await freePort()]
  const address = `127.0.0.1:${port}`
  const secured = { tls: `localhost:${tlsPort}`, sasl: `localhost:${saslPort}` }
  const { ca, certificate, key } = makeCertificates(folder)
  const keyStore = join(folder, 'key-store.pem')
  writeFileSync(keyStore, readFileSync(key, 'utf8') + readFileSync(certificate, 'utf8'))
  const { username, password } = kafkaUser
  const login = (module: string, options = '') =>
    `org.apache.kafka.common.security.${module} required ${options};`
  const config = join(folder, 'server.properties')
  const settings = {
    'process.roles': 'broker,controller',
    'node.id': String(brokerId),
    'controller.quorum.voters': `${brokerId}@127.0.0.1:${controllerPort}`,
    listeners: `PLAINTEXT://${address},CONTROLLER://127.0.0.1:${controllerPort},SSL://${secured.tls},SASL_SSL://${secured.sasl}`,
    'advertised.listeners': `PLAINTEXT://${address},SSL://${secured.tls},SASL_SSL://${secured.sasl}`,
    'controller.listener.names': 'CONTROLLER',
    'listener.security.protocol.map': 'CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_SSL:SASL_SSL',
    'ssl.keystore.type': 'PEM',
    'ssl.keystore.location': keyStore,
    'sasl.enabled.mechanisms': 'PLAIN,SCRAM-SHA-256,SCRAM-SHA-512',
    'listener.name.sasl_ssl.plain.sasl.jaas.config': login(
      'plain.PlainLoginModule',
      `user_${username}="${password}"`,
    ),
    'listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config': login('scram.ScramLoginModule'),
    'listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config': login('scram.ScramLoginModule'),
    'log.dirs': join(folder, 'data'),
    'offsets.topic.replication.factor': '1',
    'auto.create.topics.enable': 'false',
  }
  writeFileSync(
    config,
    Object.entries(settings)
      .map(([name, value]) => `${name}=${value}\n`)
      .join(''),
  )
  const java = (main: string, ...args: string[]) => ['-Xmx256m', '-cp', classPath, main, ...args]
  // One that begins with a dash would be taken for an option.
  const cluster = Buffer.concat([Buffer.of(0), randomBytes(15)]).toString('base64url')
  const scram = ['SCRAM-SHA-256', 'SCRAM-SHA-512'].flatMap((mechanism) => [
    '--add-scram',
    `${mechanism}=[name=${username},password=${password}]`,
  ])
  execFileSync('java', java('kafka.tools.StorageTool', 'format', '-t', cluster, '-c', config, ...scram), {
    stdio: 'ignore',
  })
  const start = async () => {
    const child = spawn('java', java('kafka.Kafka', config), { cwd: folder, stdio: 'ignore' })
    await until('the broker of Kafka answers', () => isListening(port))
    return child
  }
  let child = await start()
  const kill = () => void child.kill('SIGKILL')
  process.once('exit', kill)
  const end = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    kill()
    await gone
  }
  const client = { clientId: 'test', bootstrapBrokers: [address] }
  const send = async (
    messages: readonly { readonly topic: string; readonly partition?: number; readonly value: Buffer }[],
  ) => {
    const producer = new Producer(client)
    await producer.send({ messages: [...messages] })
    await producer.close()
  }
  return {
    address,
    secured: { ...secured, ca: readFileSync(ca, 'utf8') },
    createTopic: async (topic, partitions) => {
      const admin = new Admin(client)
      await admin.createTopics({ topics: [topic], partitions, replicas: 1 })
      await admin.close()
    },
    extendTopic: async (topic, partitions, added) => {
      const admin = new Admin(client)
      const assignments = Array.from({ length: added }, () => ({ brokerIds: [brokerId] }))
      await admin.createPartitions({ topics: [{ name: topic, count: partitions + added, assignments }] })
      await admin.close()
    },
    deleteTopic: async (topic) => {
      const admin = new Admin(client)
      await admin.deleteTopics({ topics: [topic] })
      await admin.close()
    },
    send: (topic, ...messages) => send(messages.map((text) => ({ topic, value: Buffer.from(text) }))),
    sendTo: (topic, partition, ...messages) =>
      send(messages.map((text) => ({ topic, partition, value: Buffer.from(text) }))),
    kill: end,
    restart: async () => {
      child = await start()
    },
    [Symbol.asyncDispose]: async () => {
      process.off('exit', kill)
      await end()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
